"""Which key goes where: a person's own, kept for one session, and the owner's, for the servers the owner configured."""

from __future__ import annotations

import re
from typing import Literal

import streamlit as st
from pydantic import SecretStr

from crag.core.config import AppConfig
from crag.core.errors import InputError
from crag.core.keys import Keys
from ui.app.permits import bare

__all__ = ["SLOTS", "Slot", "forget", "keep", "kept", "origin", "owners", "server", "usable"]

Slot = Literal["llm", "rerank", "tavily"]
SLOTS: tuple[Slot, ...] = ("llm", "rerank", "tavily")
_KEY = re.compile(r"[!-~]{1,1000}")


def owners() -> Keys:
    """What the owner gave: the environment's keys, and Streamlit's secrets where it has none."""
    return Keys.from_mapping().over(_secrets())


def _secrets() -> Keys:
    try:
        return Keys.from_mapping(st.secrets)
    except FileNotFoundError:
        return Keys()


def server(slot: Slot, config: AppConfig) -> str:
    """Whom this key would be sent to under `config`; empty where to nobody."""
    if slot == "rerank":
        return bare(config.rerank_base_url)
    if slot == "tavily":
        return bare(config.tavily_base_url) or "tavily"
    return {"none": "", "openai": "openai"}.get(config.llm, bare(config.llm_base_url))


def usable(given: Keys, own: AppConfig, config: AppConfig, *, shared: bool) -> Keys:
    """Those of the owner's keys that a session with `config` may use, `own` being the owner's configuration.

    Each goes only to the server that the owner configured. Where strangers can reach the app, what the owner did not
    turn on is not paid for with the owner's key either.
    """
    same = {slot: server(slot, config) == server(slot, own) for slot in SLOTS}
    searches = not shared or "tavily" in (own.web, own.web_fallback)
    return Keys(
        llm=given.llm if same["llm"] else None,
        openai=given.openai if not shared or own.llm == "openai" else None,
        rerank=given.rerank if same["rerank"] else None,
        tavily=given.tavily if same["tavily"] and searches else None,
    )


# The session's own, each kept for the one server it was entered for


def keep(slot: Slot, config: AppConfig, typed: str) -> None:
    """Keep a key for this session. Raises InputError for what can't be one; the words never repeat it."""
    key, whom = typed.strip(), server(slot, config)
    if not _KEY.fullmatch(key):
        raise InputError(
            "That is no key: it holds blanks or signs that no key has.", "Copy it again from where you got it."
        )
    if not whom:
        raise InputError("A key needs a server that it is for.", "Enter the server's address first.")
    st.session_state.own_keys = {**_own(), (slot, whom): SecretStr(key)}


def forget(slot: Slot, config: AppConfig) -> None:
    st.session_state.own_keys = {place: key for place, key in _own().items() if place != (slot, server(slot, config))}


def kept(config: AppConfig) -> Keys:
    """The session's own keys for the servers of `config`."""
    found = {slot: _own().get((slot, server(slot, config))) for slot in SLOTS}
    return Keys(llm=found["llm"], rerank=found["rerank"], tavily=found["tavily"])


def origin(slot: Slot, config: AppConfig, keys: Keys) -> Literal["session", "environment", "secrets", ""]:
    """Where the key that would be used comes from; empty where there is none. `keys`: all that may be used."""
    if getattr(kept(config), slot) is not None:
        return "session"
    used, secret = getattr(keys, slot), getattr(_secrets(), slot)
    if slot == "llm" and config.llm == "openai" and used is None:
        used, secret = keys.openai, _secrets().openai
    if used is None:
        return ""
    return "secrets" if used == secret else "environment"


def _own() -> dict[tuple[Slot, str], SecretStr]:
    found: dict[tuple[Slot, str], SecretStr] = st.session_state.get("own_keys", {})
    return found
