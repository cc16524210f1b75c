"""The model file of Settings: chosen among those found or by its path, with the memory it needs, said beforehand."""

from __future__ import annotations

import streamlit as st

from crag.pipeline.resolve import model_folder, model_place
from crag.providers.gguf import free_memory, model_files
from crag.providers.gguf_server import GgufServer, server_of
from crag.providers.registry import GGUF
from crag.text.formats import format_size
from ui.app.clicks import requires
from ui.app.session import Session
from ui.components.safe_text import markdown
from ui.settings import controls


def choose(session: Session) -> None:
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
    _state(session)


def _state(session: Session) -> None:
    """What the file needs, if it can be used."""
    model = session.resolve_providers().model
    if model is None or (file := model.endpoint.file) is None:
        return
    server, free = server_of(file, session.config.models.threads), free_memory()
    needs = f"{format_size(file.size)} on the disk, about {format_size(file.memory)} of memory"
    if server.loaded:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(f"Loaded: {needs}.", width="content")
            if not session.shared:
                st.button(
                    "Unload the model",
                    key="models-unload",
                    type="tertiary",
                    on_click=_unload,
                    args=(session, server),
                )
        return
    left = f"; {format_size(free)} are free" if free is not None else ""
    st.caption(f"{needs}{left}. It loads with the first question and unloads after a while without one.")


@requires("administer")
def _unload(session: Session, server: GgufServer) -> None:
    """Give the memory of a model back; it is everybody's model."""
    server.end()
