"""The rail and the sliders beside a run: what it would have become, decided again without a model call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import streamlit as st

from crag.analysis.whatif.whatif import WhatIf, redecide
from crag.core.errors import SettingsError
from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES
from crag.core.trace import Trace
from crag.core.types import KeepReason, Strip
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.elements import Html
from crag.export.html.passage import View
from crag.export.html.path import chip
from crag.export.html.rail import describe_run
from crag.messages.answers import lacking_sentence
from crag.messages.tuning import unknown_sentence
from crag.messages.wording import decision_sentence, words_text
from crag.text.words import count_words
from ui.app import clicks, tab
from ui.app.clicks import requires
from ui.app.session import Session
from ui.components import forms
from ui.components.drawing import draw
from ui.components.problems import show
from ui.components.rail import draw_rail


def sliders(run: str, base: Settings) -> Settings:
    """The settings that lines and sliders beside `run` stand at; `base`, the run's own, until one is moved."""
    key = f"tune-{run}-{tab.runs().reset}"
    if base.evaluator == "none":
        return base
    of, lower, upper = tab.runs().lines or ("", 0.0, 0.0)
    moved: dict[str, Any] = {"lower": lower, "upper": upper} if of == run else {}
    with st.expander(forms.MORE, key=f"{key}-more"):
        first, second = st.columns(2, gap="medium")
        with first:
            moved["aggregation"] = forms.aggregation(base, base.aggregation, key=key)
        with second:
            moved["strip_filter"] = forms.field(Settings, "strip_filter", base.strip_filter, key=f"{key}-floor")
        moved |= forms.evidence(base.model_dump(), key=key, across=2)
    try:
        return base.changed(**moved)
    except SettingsError as error:
        show(error)
        return base


def draw_lines(trace: Trace, settings: Settings, base: Settings, *, web_on: bool) -> None:
    """The rail of a run; nothing of one without grades."""

    def moved(lower: float, upper: float) -> None:
        tab.runs().lines = trace.run_id, lower, upper

    if data := describe_run(trace, settings, base, web=web_on):
        draw_rail("rail", data, moved)


def view(trace: Trace, settings: Settings) -> tuple[View, WhatIf | None]:
    """How to look at a run under the sliders, and what would change; None while the run decides, or unmoved."""
    as_it_was = View.of(trace)
    if not trace.finished or not trace.rounds or settings == Settings.stored(trace.settings).settings:
        return as_it_was, None
    what = redecide(trace, settings)
    deciding = what.decision.deciding_id if what.decision else None
    kept, room = _kept(trace, what), settings.strip_words
    return View(upper=settings.upper, lower=settings.lower, room=room, deciding_id=deciding, kept=kept), what


def _kept(trace: Trace, what: WhatIf) -> dict[str, dict[str, KeepReason]] | None:
    """The strips that would be kept and why, by source; where unknown, those of the run. None: all are the run's."""
    if what.decision is None or what.documents == "unknown":
        return None
    kept = {source: _whys(strips) for source, strips in what.strips.items()}
    if what.web == "unknown":
        kept |= {page.id: _whys(trace.strips.get(page.id, ())) for page in trace.pages}
    return kept


def _whys(strips: Iterable[Strip]) -> dict[str, KeepReason]:
    return {strip.id: strip.why for strip in strips if strip.kept}


def change(session: Session, trace: Trace, settings: Settings, what: WhatIf) -> None:
    """What would change, what only a new run could tell, and the buttons that follow from it."""
    draw(_change(trace, what))
    with st.container(horizontal=True):
        clicks.button(
            "Use these for the next question",
            "tune-use",
            _adopt,
            session,
            trace,
            settings,
            type="primary",
            disabled=trace.strategy not in STRATEGIES,
        )
        st.button("Reset to this run's settings", key="tune-back", on_click=_back)


@requires("edit")
def _adopt(session: Session, trace: Trace, settings: Settings) -> None:
    """The next question is asked with exactly these, so with the run's strategy too; of what is chosen for it."""
    strategy = trace.strategy
    if trace.scope is not None:
        settings = settings.changed(where=session.settings(strategy).where)
    session.change(strategy, settings)
    session.switch(strategy)
    st.rerun()  # of the whole page, of which the sliders are a part that runs alone


def _back() -> None:
    tab.runs().reset += 1
    tab.runs().lines = None


def _change(trace: Trace, what: WhatIf) -> Html:
    reason = what.decision and decision_sentence(what.decision, named=what.decision.instead_of is not None)
    if reason is None:
        lead: object = "This change needs a new run to show its effect."
    elif what.changes_action:
        lead = (chip(what.before), " would become ", chip(what.action), ": ", reason)
    else:
        lead = ("Still ", chip(what.action), ": ", reason)
    lines = [*_strips(trace, what), *_web(trace, what), *map(unknown_sentence, what.unknown)]
    if what.unknown and (lacking := lacking_sentence(trace)):
        lines.append(lacking)
    listed = [h.li[line] for line in lines]
    return h.div("cx")[h.div("change", role="status")[h.b["What if"], " ", lead, h.ul[listed]]]


def _strips(trace: Trace, what: WhatIf) -> list[str]:
    if _kept(trace, what) is None or (what.web == "unknown" and trace.pages):
        return []
    before = {strip.id: strip for strip in trace.kept()}
    after = {strip.id: strip for strips in what.strips.values() for strip in strips if strip.kept}
    said, used = words_text(after.values()), sum(count_words(strip.text) for strip in before.values())
    if before.keys() == after.keys():
        return [f"The same {words.count(len(after), 'strip')} would be kept, {said}."]
    return [
        f"{words.count(len(after), 'strip')} would be kept instead of {len(before)}: "
        f"{len(after.keys() - before.keys())} more, {len(before.keys() - after.keys())} fewer; "
        f"{said} instead of {used:,}."
    ]


def _web(trace: Trace, what: WhatIf) -> list[str]:
    if what.web == "not needed" and trace.searches:
        return ["The web would not be searched."]
    if what.web == "known":
        return ["The web pages found in this run would be used."]
    return []
