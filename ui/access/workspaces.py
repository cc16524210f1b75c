"""The library that a browser sees: everyone's one, or its own, named in the address by a key that can't be guessed."""

from __future__ import annotations

import streamlit as st

from crag.core.config import AppConfig
from crag.engine import Engine
from crag.storage.private import name_of
from ui.access import oidc
from ui.access.visitor import state
from ui.components.tab_state import show_library

ONE = "default"
KEY = "w"
"""The query parameter that holds the key."""

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_OF_A_WORKSPACE = "document", "compare-question"


def reachable() -> bool:
    """Whether other machines can reach the server, by the address it listens on."""
    return st.get_option("server.address") not in _LOOPBACK


def private(config: AppConfig) -> bool:
    """Whether each browser has a library of its own, by a key in the address: as chosen, or wherever other machines can
    reach the server. Where people sign in, never: who somebody is decides.
    """
    if oidc.on():
        return False
    return reachable() if config.storage.workspaces == "auto" else config.storage.workspaces == "private"


def shared(config: AppConfig) -> bool:
    """Whether others than the owner may be visiting, who get none of the machine's files, keys and inner network.

    That is so wherever other machines can reach the server, also with one library for all; and where each browser has
    a library of its own, which is how an owner says that a proxy leads others here; and wherever people sign in.
    """
    return oidc.on() or reachable() or private(config)


def open_workspace(engine: Engine) -> str:
    """The workspace of a browser session without sign-in: by the key in the address, which stays there.

    An address with a key that this program gave out opens that key's library. Without one the session keeps the key it
    has, which is how it survives page switches, or is given a new one; any other is refused, and that is said. Raises
    StorageError.
    """
    if not private(engine.config):
        st.query_params.pop(KEY, None)
        state().key = ""
        return switch_to(ONE)
    own, wanted = state(), st.query_params.get_all(KEY)
    if len(wanted) == 1 and engine.private_libraries.known(wanted[0]):
        own.sent = own.sent is not False
        own.key = wanted[0]
    else:
        own.refused, own.sent = bool(wanted), False
        own.key = own.key or engine.private_libraries.issue()
        st.query_params[KEY] = own.key
    return switch_to(name_of(own.key))


def key() -> str:
    """What opens this session's library from its address; empty where there is one library for all."""
    return state().key


def switch_to(workspace: str) -> str:
    """Nothing that was remembered of another library is taken along."""
    if show_library(workspace):
        for name in _OF_A_WORKSPACE:
            st.session_state.pop(name, None)
    return workspace


def _leave() -> None:
    """A library of one's own, in place of the one that an address led to."""
    st.query_params.pop(KEY, None)
    own = state()
    own.key, own.sent, own.refused = "", None, False


def show_key_notice(config: AppConfig) -> None:
    """Says what the address is worth, where it is worth something, and whose library this may be."""
    if not private(config):
        return
    if state().refused:
        st.warning("No library has this address. This is a new library with its own address.")
    st.caption("This address is the key to your library: keep it, and share it only with people you trust.")
    if state().sent:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption("If somebody sent you here, they see what you add and ask.", width="content")
            st.button("Start my own library", key="own-library", type="tertiary", on_click=_leave)
