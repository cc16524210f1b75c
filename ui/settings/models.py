"""The Models tab of Settings: what grades, writes and searches for this browser session, and with which keys."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from crag.core.config import AppConfig
from crag.core.errors import CragError
from ui.app.program import program
from ui.app.session import Session
from ui.kit import problems, words
from ui.kit.safe import markdown
from ui.settings import controls, servers

__all__ = ["show"]

_GRADERS = {
    "local": "The model that ships with the program: no calls, no cost.",
    "llm": "One call a chunk, side by side, and one for each sentence of an answer that is checked. Where a call "
    "fails, the local evaluator grades instead.",
    "reranker": "One call for all chunks of a question. Where it fails, the local evaluator grades instead.",
}
_WRITERS = {
    "auto": "Written by the language model where one is set, otherwise quoted from the sources.",
    "extractive": "The best sentences of the sources, word for word: no calls, no cost.",
    "llm": "Written by the language model from the sources alone, with citations, each sentence checked.",
}
_WEBS = {
    "off": "Nothing is searched: where the documents do not suffice, the answer says so.",
    "folder": "Pages saved on this machine stand in for the web; nothing leaves it.",
    "tavily": "Queries go to Tavily, which needs a key.",
    "duckduckgo": "Queries go to DuckDuckGo, without a key.",
}
_LASTING = "What you choose here is for this browser session, until the page is reloaded or closed."


def show(session: Session) -> None:
    """Every choice takes effect with the next question. Raises CragError."""
    st.caption(f"{_LASTING} Others see nothing of it, nor of your keys." if session.shared else _LASTING)
    problem: CragError | None = st.session_state.pop("models-problem", None)
    if problem is not None:
        problems.show(problem)
    with st.container(key="models"):
        with _section("Language model", "Writes answers and queries, and can grade. Local models do without one."):
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
    name = title.lower().replace(" ", "-")
    with st.container(key=f"models-section-{name}"):
        left, right = st.columns([3, 8], gap="large")
        with left:
            st.subheader(title, anchor=False)
            st.caption(about)
        with right:
            yield


def _grading(session: Session) -> None:
    controls.segments(session, "evaluator")
    chosen = session.config.evaluator
    st.caption(_GRADERS[chosen])
    if chosen == "llm" and session.config.llm == "none":
        st.caption("**No language model is set: until one is, the local evaluator grades.**")
    if chosen == "reranker":
        servers.reranker(session)


def _answers(session: Session) -> None:
    controls.segments(session, "writer")
    st.caption(_WRITERS[session.config.writer])


def _web(session: Session) -> None:
    mine = not session.shared or session.config.web_folder is not None
    kinds = [kind for kind in _WEBS if kind != "folder" or mine or session.config.web == "folder"]
    controls.segments(session, "web", kinds)
    config = session.config
    st.caption(_WEBS[config.web])
    if config.web == "off":
        return
    left, right = st.columns(2, gap="medium")
    with left:
        spare = ["none", *(kind for kind in kinds if kind not in ("off", config.web))]
        if config.web_fallback not in spare:
            spare.append(config.web_fallback)
        controls.select(session, "web_fallback", spare)
    used = {config.web, config.web_fallback}
    with right:
        if "tavily" in used:
            controls.key(session, "tavily", "Tavily key", hint="Tavily needs one.")
    if "folder" in used and not session.shared:
        controls.folder(session, "web_folder")
        _check_folder(config)
    if used & {"tavily", "duckduckgo"}:
        _leaving(session, tavily="tavily" in used)


def _check_folder(config: AppConfig) -> None:
    """Says at once where the folder can't serve, instead of in the middle of a run."""
    web = program().engine.web(config)
    if web is None:
        st.caption("Name the folder: until then there are no pages to search.")
        return
    with problems.told():
        web.search("page", 1)


def _leaving(session: Session, *, tavily: bool) -> None:
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
        if tavily:
            controls.address(session, "tavily_base_url", placeholder="https://api.tavily.com")
        controls.switch(session, "private_addresses")


def _keeping(session: Session) -> None:
    """The choices for new sessions too, or back to what those start with. Keys are neither kept nor dropped."""
    changed = session.choices
    with st.container(key="models-keeping", horizontal=True, vertical_alignment="center"):
        if not session.shared and st.button(
            "Keep for next time", key="models-keep", type="primary", disabled=not changed
        ):
            _keep(session)
        st.button("Reset", key="models-reset", disabled=not changed, on_click=session.unchoose)
        st.caption(markdown(_summary(session)))
    if st.session_state.pop("models-kept", False):
        st.success("Kept. New sessions start with these choices; keys are never stored.")


def _keep(session: Session) -> None:
    with problems.told():
        config = session.config
        program().configure(**{name: getattr(config, name) for name in session.choices})
        session.unchoose()
        st.session_state["models-kept"] = True
        st.rerun()


def _summary(session: Session) -> str:
    changed = session.choices
    if not changed:
        return "New sessions start with these choices." if not session.shared else "Nothing is changed."
    return f"{words.count(len(changed), 'choice')} changed in this session."
