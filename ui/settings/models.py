"""The Models tab of Settings: what grades, writes and searches for this browser session, and with which keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import streamlit as st

from crag.core.config import AppConfig
from crag.evaluation.reranker import RERANKER
from crag.export.html import words
from crag.export.html.safe_text import markdown
from crag.pipeline.resolve import problem
from crag.providers import registry
from crag.runtime.provider import Provider
from crag.web.folder import FOLDER
from ui.access import allowed_choices
from ui.app.program import program
from ui.app.session import Session
from ui.components import problems
from ui.settings import controls, servers
from ui.settings.state import state

_WRITERS = {
    "auto": "Written by the language model where one is set, otherwise quoted from the sources.",
    "extractive": "The best sentences of the sources, word for word: no calls, no cost.",
    "llm": "Written by the language model from the sources alone, with citations, each sentence checked.",
}
_WIDE = 990
"""Pixels: a form is read more easily in a narrow column."""
_NO_WEB = "Nothing is searched: where the documents do not suffice, the answer says so."


def show(session: Session) -> None:
    """Every choice takes effect with the next question. Raises CragError."""
    problem = state().problems.pop("models", None)
    if problem is not None:
        problems.show(problem)
    with st.container(key="models", width=_WIDE):
        with _section(
            "Language model", "Writes answers and queries, and can grade. Optional: the local models work without it."
        ):
            servers.language_model(session)
        with _section("Grading", "Scores each chunk that was found. The scores decide what happens next."):
            _grading(session)
        with _section("Answers", "From the sources alone, and cited."):
            _answers(session)
        with _section("Web search", "Asked where the documents do not suffice."):
            _web(session)
        _keeping(session)


@contextmanager
def _section(title: str, about: str) -> Iterator[None]:
    """Its name and one line on the left, what can be chosen on the right."""
    left, right = st.columns([3, 8], gap="large")
    with left:
        st.header(title, anchor=False)
        st.caption(about)
    with right:
        yield
    st.divider()


def _grading(session: Session) -> None:
    controls.segments(session, "evaluator")
    chosen = registry.evaluators().get(session.config.providers.evaluator)
    missing_for = session.resolve_providers().missing_for("evaluate")
    st.caption(chosen.about if chosen else "")
    if missing_for is not None and missing_for.reason == "no-language-model":
        st.caption("**No language model is set: until one is, the local evaluator grades.**")
    elif missing_for is not None and (chosen is None or chosen != RERANKER):
        st.caption(markdown(str(problem(missing_for))))
    if chosen == RERANKER:
        servers.reranker(session)
    elif chosen is not None:
        _place(session, chosen)


def _answers(session: Session) -> None:
    controls.segments(session, "writer")
    st.caption(_WRITERS[session.config.providers.writer])


def _web(session: Session) -> None:
    mine = not session.shared or session.config.providers.web_folder is not None
    offered = allowed_choices.offered("web", session.own, shared=session.shared)
    kinds = [kind for kind in offered if kind != FOLDER.name or mine or session.config.providers.web == FOLDER.name]
    controls.segments(session, "web", kinds)
    config, known = session.config, registry.webs()
    first = known.get(config.providers.web)
    st.caption(first.about if first else _NO_WEB)
    if config.providers.web == "off":
        if session.config_to_ask.providers.web != "off":
            st.caption("Questions on the sample alone search the pages that come with it.")
        return
    spare = [kind for kind in kinds if kind not in ("off", config.providers.web)]
    used = [
        known[name] for name in dict.fromkeys((config.providers.web, config.providers.web_fallback)) if name in known
    ]
    left, right = st.columns(2, gap="medium")
    with left:
        controls.select(session, "web_fallback", ["none", *spare])
    with right:
        for each in used:
            _place(session, each)
    if FOLDER in used and not session.shared:
        controls.folder(session, "web_folder")
        _check_folder(config)
    outside = [each for each in used if each.leaves]
    if outside:
        _leaving(session, outside)


def _place(session: Session, provider: Provider) -> None:
    """Where a provider's server is, and its key."""
    if provider.server:
        controls.address(session, provider)
    if provider.key:
        hint = f"{provider.title} needs one." if provider.key_needed else "Not every server needs one."
        controls.key(session, provider.key, f"{provider.title} key", hint=hint)


def _check_folder(config: AppConfig) -> None:
    """Says at once where the folder can't serve, instead of in the middle of a run."""
    web = program().engine.web(config)
    if web is None:
        st.caption("Name the folder: until then there are no pages to search.")
        return
    with problems.reported():
        web.search("page", 1)


def _leaving(session: Session, used: Sequence[Provider]) -> None:
    """What goes out to the web, and what is kept of what comes back."""
    left, right = st.columns(2, gap="medium", vertical_alignment="bottom")
    with left:
        controls.switch(session, "ask_before_web")
        controls.switch(session, "fetch_pages")
    with right:
        controls.number(session, "web_cache_hours")
    if session.shared:
        return
    with st.expander("More about the web"):
        for each in used:
            if each.address and not each.server:
                controls.address(session, each)
        controls.switch(session, "private_addresses")


def _keeping(session: Session) -> None:
    """The choices for new sessions too, or back to what those start with. Keys are neither kept nor dropped."""
    changed = session.choices
    with st.container(horizontal=True, vertical_alignment="center"):
        if (
            not session.shared
            and not session.saves
            and st.button("Keep for next time", key="models-keep", type="primary", disabled=not changed)
        ):
            _keep(session)
        st.button("Reset", key="models-reset", disabled=not changed, on_click=session.unchoose)
        st.caption(markdown(_summary(session)))
    if state().was_saved("models"):
        st.success("Kept. New sessions start with these choices; keys are never stored.")


def _keep(session: Session) -> None:
    with problems.reported():
        session.require("administer")
        config = session.config
        program().configure(session.visitor.name, **{name: config.get(name) for name in session.choices})
        session.unchoose()
        state().saved.add("models")
        st.rerun()


def _summary(session: Session) -> str:
    changed = session.choices
    if not changed:
        return (
            "Nothing has been changed." if session.shared or session.saves else "New sessions start with these choices."
        )
    return f"{words.count(len(changed), 'choice')} changed{'' if session.saves else ' in this session'}."
