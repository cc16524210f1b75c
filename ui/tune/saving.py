"""A configuration of the sliders' settings: saved in the library under a name, renamed, deleted."""

from __future__ import annotations

import streamlit as st

from crag.core.settings import Settings
from crag.core.strategies import Strategy
from crag.storage.configurations import LONGEST_NAME
from ui.app import clicks, undo
from ui.app.clicks import requires
from ui.app.session import Session
from ui.tune import sliders


def panel(session: Session, chosen: Strategy, settings: Settings) -> None:
    """A name for these settings; of a saved configuration, also another name, and the way to delete it."""
    with st.popover("Save as…", width="stretch", key=f"tune-saving-{sliders.state().turn}"):
        key = f"tune-name-{chosen.name}"
        st.text_input("Name", chosen.name if chosen.base else "", LONGEST_NAME, key=key)
        st.caption("Ask, Compare, Evaluate and other programs know it by this name.")
        with st.container(horizontal=True):
            clicks.button("Save", "tune-save", _save, session, chosen, settings, key, type="primary")
            if chosen.base:
                clicks.button("Rename", "tune-rename", _rename, session, chosen, key)
                clicks.button("Delete", "tune-delete", _delete, session, chosen)


@requires("edit")
def _save(session: Session, chosen: Strategy, settings: Settings, key: str) -> None:
    typed, used = str(st.session_state[key]), session.strategy
    saved = session.library.configurations.save(typed, chosen.base or chosen.name, settings)
    session.reset(saved.name)
    if used.casefold() == saved.name.casefold():
        session.switch(saved.name)
    _choose(saved.name, f"Saved as {saved.name}.")


@requires("edit")
def _rename(session: Session, chosen: Strategy, key: str) -> None:
    used = session.strategy == chosen.name
    renamed = session.library.configurations.rename(chosen.name, str(st.session_state[key]))
    if used:
        session.switch(renamed.name)
    _choose(renamed.name, f"Now called {renamed.name}.")


@requires("edit")
def _delete(session: Session, chosen: Strategy) -> None:
    """Its strategy takes its place here and in Ask; runs that were asked with it stay."""
    used = session.strategy == chosen.name
    session.note("delete", "configuration", chosen.name)
    undo.hold(session, chosen.name, session.library.configurations.delete(chosen.name))
    if used:
        session.switch(chosen.base)
    _choose(chosen.base, f"{chosen.name} is deleted.")


def _choose(name: str, said: str) -> None:
    """Tune this one from now on."""
    st.session_state[sliders.CHOSEN] = name
    sliders.state().turn += 1
    sliders.state().said = said
    st.rerun()  # of the whole page: the choice of the strategy stands above the part that runs alone
