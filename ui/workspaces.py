"""Whose library a browser sees: everyone's one, or its own, named in the address by a key that can't be guessed."""

from __future__ import annotations

import re
import secrets

import streamlit as st
from streamlit.config import get_option

from crag.core.config import AppConfig

__all__ = ["KEY", "ONE", "entered", "private", "reachable", "shared", "words_on_the_key"]

ONE = "default"
KEY = "w"
"""The query parameter that holds the key."""

_PATTERN = re.compile(r"[0-9a-f]{32}")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_OF_A_WORKSPACE = (
    *("turns", "traces", "selected", "opened", "leaf", "document", "marked", "upload", "typed"),
    *("compare-runs", "compare-opened", "compare-question", "compare-lanes"),
)


def reachable() -> bool:
    """Whether other machines can reach the server, by the address it listens on."""
    return get_option("server.address") not in _LOOPBACK


def private(config: AppConfig) -> bool:
    """Whether each browser has a library of its own: as chosen, or wherever other machines can reach the server."""
    return reachable() if config.workspaces == "auto" else config.workspaces == "private"


def shared(config: AppConfig) -> bool:
    """Whether others than the owner may be visiting, who get none of the machine's files, keys and inner network.

    That is so wherever other machines can reach the server, also with one library for all; and where each browser has
    a library of its own, which is how an owner says that a proxy leads others here.
    """
    return reachable() or private(config)


def entered(config: AppConfig) -> str:
    """The workspace of this browser session; a private one is kept in the address from now on.

    An address with a key opens that key's library. Without a proper key the session keeps the one it has, which is
    how it survives page switches, or is given a new one.
    """
    if not private(config):
        st.query_params.pop(KEY, None)
        return _become(ONE)
    wanted = st.query_params.get_all(KEY)
    known = st.session_state.get("workspace", "")
    if len(wanted) == 1 and _PATTERN.fullmatch(wanted[0]):
        return _become(wanted[0])
    key = known if _PATTERN.fullmatch(known) else secrets.token_hex(16)
    st.query_params[KEY] = key
    return _become(key)


def _become(workspace: str) -> str:
    """Nothing that was remembered of another library is taken along."""
    if st.session_state.get("workspace", workspace) != workspace:
        for name in _OF_A_WORKSPACE:
            st.session_state.pop(name, None)
    st.session_state.workspace = workspace
    return workspace


def words_on_the_key(config: AppConfig) -> None:
    """Says what the address is worth, where it is worth something."""
    if private(config):
        st.caption("This address is the key to your library: keep it, share it only with whom you trust.")
