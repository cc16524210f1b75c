"""What is looked at on the Monitor page: the library, the span, and the filters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from crag.analysis.monitoring.figures import Choice, Span
from crag.core.model_ids import maker
from crag.core.runfacts import RunFacts
from crag.export.html import words
from crag.export.html.safe_text import excerpt
from crag.messages.answers import origin_word
from ui.app.session import Session
from ui.components import forms
from ui.monitor import stored

_SPANS: Mapping[Span, str] = {"day": "24 hours", "week": "7 days", "month": "30 days", "all": "All"}
_EVALUATIONS = {"without": "Without evaluations", "with": "With evaluations", "only": "Evaluations alone"}


def library(session: Session) -> str:
    """The library of the runs: this library's, or, for who administers, another's or those of all."""
    names = stored.workspaces(session)
    if len(names) == 1:
        return session.workspace
    names = {session.workspace: names.pop(session.workspace), stored.ALL: "All libraries together", **names}
    return forms.choice("Library", names, "mon-library", width=260)


def choice(runs: Sequence[RunFacts]) -> Choice:
    """The span, and a filter for each field in which the runs differ."""
    with st.container(key="mon-choices", horizontal=True, vertical_alignment="bottom", gap="small"):
        span = forms.one_of("Span", _SPANS, "mon-span", "month", label_visibility="visible", width="content")
        picked = {
            "strategy": _filter("Strategy", "strategy", runs, words.strategy),
            "evaluator": _filter("Evaluator", "evaluator", runs, lambda id: maker(id) if id else "none"),
            "scope": _filter("Asked of", "scope", runs, scope_text, whole="*"),
            "via": _filter("Asked through", "via", runs, asker_text),
        }
        evaluations: Any = forms.choice("Question sets", _EVALUATIONS, "mon-evaluations", width=200)
    return Choice(span=span, evaluations=evaluations, **picked)


def _filter(label: str, field: str, runs: Sequence[RunFacts], named: Callable[[str], str], whole: str = "") -> str:
    """One value of a field, or "" for all; nothing is asked where there is only one."""
    found = Counter(str(getattr(run, field)) or ("app" if field == "via" else whole) for run in runs)
    values = [value for value, _ in found.most_common() if value]
    if len(values) < 2:
        return ""
    key = f"mon-{field}"
    if st.session_state.get(key) not in ("", *values):
        st.session_state[key] = ""
    return forms.choice(label, {"": "All", **{value: named(value) for value in values}}, key, width=170)


def scope_text(scope: str) -> str:
    """What a question was asked of, in words."""
    return "all documents" if scope in ("", "*") else excerpt(scope, 60)


def asker_text(via: str) -> str:
    """Who asked, in words."""
    word = origin_word(via) or "the app"
    return word[:1].upper() + word[1:] if via == "python" else word
