"""The servers behind the choices: found on this machine, their models listed, tried with one press."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import streamlit as st

from crag.core.errors import CragError
from crag.core.model_ids import about
from crag.core.types import Step
from crag.evaluation.reranker import RERANKER
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.safe_text import markdown
from crag.pipeline.resolve import Service, model_folder, model_place, problem
from crag.providers import registry
from crag.providers.discovery import LocalServers, Trial, list_models, try_model, try_reranker
from crag.providers.endpoint import Endpoint
from crag.providers.gguf_server import GgufServer, model_files, server_of
from crag.providers.registry import GGUF
from crag.text.formats import format_size
from ui.access import allowed_choices
from ui.app import clicks, keys
from ui.app.clicks import requires
from ui.app.fragments import follow
from ui.app.program import program
from ui.app.session import Session
from ui.components import problems
from ui.components.drawing import draw
from ui.settings import controls
from ui.settings.state import state

T = TypeVar("T")
_OFFERED = 4
"""Models of a server that are offered at one click."""


def language_model(session: Session) -> None:
    """Service, address, key and model, and a test of them all."""
    controls.segments(session, "llm", allowed_choices.offered("llm", session.own, shared=session.shared))
    if session.config.providers.llm == "none":
        st.caption("Local models do all the work: no key, no calls.")
        _found(session)
        return
    if session.config.providers.llm == registry.GGUF.name:
        _model_file(session)
        _test(session, "llm", "answer", session.resolve_providers().model, try_model)
        return
    if session.config.providers.llm == registry.COMPATIBLE.name:
        controls.address(session, registry.COMPATIBLE)
        _found(session)
    left, right = st.columns(2, gap="medium")
    with left:
        controls.key(session, "llm", "Key", hint=_hint(session))
    with right:
        _model(session)
    _test(session, "llm", "answer", session.resolve_providers().model, try_model)


def reranker(session: Session) -> None:
    """Address, key and model of a reranking server, and a test of them."""
    controls.address(session, RERANKER)
    left, right = st.columns(2, gap="medium")
    with left:
        controls.key(session, "rerank", "Key", hint="Not every server needs one.")
    with right:
        controls.text(session, "rerank_model")
    _test(session, "rerank", "evaluate", session.resolve_providers().grader, try_reranker)


def _hint(session: Session) -> str:
    chosen = registry.models().get(session.config.providers.llm)
    return f"{chosen.title} needs one." if chosen and chosen.key_needed else "Many local servers need none."


@st.cache_resource(show_spinner=False)
def _servers() -> LocalServers:
    return LocalServers()


def _found(session: Session) -> None:
    """The usual servers of this machine that answer, each model at one click, and its models of embeddings."""
    if (
        session.config.providers.llm_base_url
        or not allowed_choices.free("llm_base_url", shared=session.shared)
        or allowed_choices.addresses(session.own, shared=session.shared) is not None
    ):
        return
    found = _servers().found()
    if found is None:
        draw_looking = partial(st.caption, "Looking for model servers on this machine…")
        follow(session, lambda: _servers().found() is None, draw_looking)
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption("Found on this machine:" if found else "No known model server answers here.", width="content")
        for server in found:
            for model in server.models[:_OFFERED] or [""]:
                label, place = model or server.name, f"{server.name}, {server.address}"
                key = f"models-found-{server.name}-{model}"
                clicks.button(markdown(label), key, _use_server, session, server.address, model, help=markdown(place))
        st.button("Look again", key="models-look", type="tertiary", on_click=_look_again)
    if session.saves or session.shared:
        return
    for server in found:
        for model in server.embeddings[:1]:
            key, label = f"models-embed-{server.name}", f"Search with {markdown(model)} from the next start"
            said = "Vectors of another model do not fit: index each library anew then."
            clicks.button(label, key, _use_embeddings, session, server.address, model, type="tertiary", help=said)


def _look_again() -> None:
    _servers().found(again=True)


def _use_server(session: Session, address: str, model: str) -> None:
    try:
        session.choose(llm=registry.COMPATIBLE.name, llm_base_url=address, llm_model=model)
    except CragError as error:
        state().problems["models"] = error


@requires("administer")
def _use_embeddings(session: Session, address: str, model: str) -> None:
    """Keep another embedding model for the next start."""
    given = {"embedding": registry.COMPATIBLE.name, "embedding_base_url": address, "embedding_model": model}
    with problems.reported(by=problems.announce):
        program().configure(session.visitor.name, **given)
        state().saved.add("models")


def _model(session: Session) -> None:
    """The model: picked from the server's list, or typed where there is no list."""
    served = session.resolve_providers(session.config.changed(llm_model="?")).model
    if served is None:
        controls.text(session, "llm_model")
        return
    listed = _listed(session, served.endpoint)
    if isinstance(listed, list):
        if (
            len(listed) == 1
            and not session.config.providers.llm_model
            and session.choices.get("llm_model") != listed[0]
        ):
            controls.use(session, "llm_model", listed[0])  # it can be no other
            st.rerun()
        controls.text(session, "llm_model", options=listed, placeholder="Choose a model, or type its name")
        st.caption(f"{words.count(len(listed), 'model')} listed by the server.")
    else:
        controls.text(session, "llm_model")
        if listed is not None:
            # As HTML: Markdown would make a link of the address.
            said = f"{about(listed.cause, listed.who)} {listed.remedy}"
            draw(h.div("cx")[h.span("small")[said]])
        again = "Ask again" if listed is not None else "List the server's models"
        st.button(again, key="models-list", type="tertiary", on_click=_ask_for_list)


def _listed(session: Session, endpoint: Endpoint) -> list[str] | CragError | None:
    """What the server said when it was asked; None: it was not asked yet.

    A server that this session chose is asked at once, one that was there before only on demand.
    """
    known = state().listed
    if known is not None and known[0] == endpoint and not state().list_asked:
        return known[1]
    chosen = {"llm", "llm_base_url"} & set(session.choices) or keys.kept(session.config).get("llm")
    if not chosen and not state().list_asked:
        return None
    state().list_asked = False
    with st.spinner("Asking for its models…"):
        found = _outcome(endpoint, list_models)
    state().listed = (endpoint, found)
    return found


def _ask_for_list() -> None:
    state().list_asked = True


def _test(
    session: Session, name: str, step: Step, service: Service[Any] | None, work: Callable[[Endpoint], Trial]
) -> None:
    """A button, and below it what came of pressing it, until something it depends on changes. Raises AccessError."""
    missing_for = session.resolve_providers().missing_for(step)
    if missing_for is not None or service is None:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button("Test", key=f"models-test-{name}", disabled=True)
            # What is wrong with a file is said nowhere else on this tab.
            said = problem(missing_for) if missing_for else None
            st.caption(markdown(str(said) if missing_for and missing_for.file else said.message) if said else "")
        return
    endpoint = service.endpoint
    if st.button("Test", key=f"models-test-{name}"):
        session.require("ask", "test a model")  # a call that costs
        with st.spinner("Asking for one small reply…"):
            state().tried[name] = (endpoint, _outcome(endpoint, work))
    known = state().tried.get(name)
    if known is not None and known[0] == endpoint:
        _show_outcome(known[1])


def _outcome(endpoint: Endpoint, work: Callable[[Endpoint], T]) -> T | CragError:
    try:
        return work(endpoint)
    except CragError as error:
        return error.with_traceback(None)  # it is kept


def _show_outcome(outcome: Trial | CragError) -> None:
    if isinstance(outcome, CragError):
        problems.show(outcome)
        return
    cost = f", {words.count(outcome.tokens, 'token')}" if outcome.tokens else ""
    st.success(f"**It works.** It replied in the requested form: {words.format_duration(outcome.seconds)}{cost}.")


def _model_file(session: Session) -> None:
    """Which file, what it needs, and whether it is loaded. Where others can reach the app the owner chose it."""
    st.caption(GGUF.about)
    config = session.config
    if session.shared:
        place = model_place(config)
        st.caption(markdown(f"{place.name if place else 'None'}, chosen by your administrator."))
    else:
        folder = model_folder(config)
        found = [each.name for each in model_files(folder)]
        controls.text(
            session,
            "llm_model",
            options=found,
            placeholder="Choose a file, or enter the path of one: /path/to/model.gguf",
        )
        st.caption(markdown(f"Files put into {folder} can be chosen here."))
    _file_state(session)


def _file_state(session: Session) -> None:
    """How large the file is, if it can be used, and whether it is loaded."""
    model = session.resolve_providers().model
    if model is None or (file := model.endpoint.file) is None:
        return
    server, size = server_of(file, model.endpoint.mark, model.endpoint.threads), format_size(file.stat().st_size)
    if server.loaded:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(f"Loaded: {size}. It leaves the memory after a while without a question.", width="content")
            if not session.shared:
                clicks.button("Unload the model", "models-unload", _unload, session, server, type="tertiary")
        return
    st.caption(f"{size}. It loads with the first question and unloads after a while without one.")


@requires("administer")
def _unload(session: Session, server: GgufServer) -> None:
    """Give the memory of a model back; it is everybody's model."""
    server.end()
