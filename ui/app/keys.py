"""Which key goes where: a person's own, kept for one session, and the owner's, for the servers the owner configured."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

import streamlit as st
from pydantic import SecretStr

from crag.core.config import AppConfig, Keys
from crag.core.errors import InputError
from crag.pipeline.resolve import bare
from crag.providers import registry
from crag.runtime.provider import Provider
from ui.app import tab

_KEY = re.compile(r"[!-~]{1,1000}")


def owners() -> Keys:
    """What the owner gave: the environment's keys, and Streamlit's secrets where it has none."""
    return registry.given_keys().over(_secrets())


def _secrets() -> Keys:
    try:
        return registry.given_keys(st.secrets)
    except FileNotFoundError:
        return Keys()


def server(slot: str, config: AppConfig) -> str:
    """Whom this key would be sent to under `config`; empty where to nobody: its server, or a provider's own home."""
    model = registry.models().get(config.providers.llm)
    for provider in (*([model] if model else []), *_graders_and_webs()):
        if provider.key == slot:
            address = bare(config.get(provider.address)) if provider.address else ""
            return address or ("" if provider.server else provider.name)
    return ""


def usable(given: Keys, own: AppConfig, config: AppConfig, *, shared: bool) -> Keys:
    """Those of the owner's keys that a session with `config` may use, `own` being the owner's configuration.

    Each goes only to the server that the owner configured. Where strangers can reach the app, what the owner did not
    turn on is not paid for with the owner's key either.
    """
    turned_on = {own.providers.llm, own.providers.evaluator, own.providers.web, own.providers.web_fallback}
    homes = [each for each in _graders_and_webs() if each.key and not each.server]
    left_off = {each.key for each in homes if each.name not in turned_on} if shared else set()
    same = [slot for slot in _slots() if slot not in left_off and server(slot, config) == server(slot, own)]
    openai = given.get("openai") if not shared or "openai" in turned_on else None
    return Keys(openai=openai, **{slot: given.get(slot) for slot in same})


def _graders_and_webs() -> list[Provider]:
    return [*registry.evaluators().values(), *registry.webs().values()]


def _slots() -> list[str]:
    """Those that a person fills; OpenAI's own and that of Milvus are the environment's alone."""
    return [slot for slot in registry.key_variables() if slot not in ("openai", "milvus")]


# The session's own, each kept for the one server it was entered for


def keep(slot: str, config: AppConfig, typed: str) -> None:
    """Keep a key for this session. Raises InputError for what can't be one; the words never repeat it."""
    key, whom = typed.strip(), server(slot, config)
    if not _KEY.fullmatch(key):
        raise InputError(
            "This is not a key: it contains spaces or characters that keys do not have.",
            "Copy it again from where you got it.",
        )
    if not whom:
        raise InputError("A key needs a server to be sent to.", "Enter the server's address first.")
    tab.choices().own_keys = {**session_keys(), (slot, whom): SecretStr(key)}


def restore(found: Mapping[tuple[str, str], SecretStr]) -> None:
    """Begin a session with these keys."""
    if found:
        tab.choices().own_keys = dict(found)


def forget(slot: str, config: AppConfig) -> None:
    tab.choices().own_keys = {
        place: key for place, key in session_keys().items() if place != (slot, server(slot, config))
    }


def kept(config: AppConfig) -> Keys:
    """The session's own keys for the servers of `config`."""
    return Keys(**{slot: session_keys().get((slot, server(slot, config))) for slot in _slots()})


def variable(slot: str, config: AppConfig) -> str:
    """The environment variable that gives this key at every start."""
    known = registry.key_variables()
    return known["openai" if slot == "llm" and config.providers.llm == "openai" else slot][-1]


def in_use(config: AppConfig, keys: Keys) -> list[tuple[str, str]]:
    """The keys that runs with `config` are sent with: the slot of each, and whom it goes to."""
    on = {config.providers.llm, config.providers.evaluator, config.providers.web, config.providers.web_fallback}
    model = registry.models().get(config.providers.llm)
    chosen = [each for each in (*([model] if model else []), *_graders_and_webs()) if each.name in on and each.key]
    slots = dict.fromkeys(each.key for each in chosen)
    given = [slot for slot in slots if keys.get(slot) is not None or (slot == "llm" and keys.get("openai") is not None)]
    return [(slot, whom) for slot in given if (whom := server(slot, config))]


def origin(slot: str, config: AppConfig, keys: Keys) -> Literal["session", "environment", "secrets", ""]:
    """Where the key that would be used comes from; empty where there is none. `keys`: all that may be used."""
    if kept(config).get(slot) is not None:
        return "session"
    used, secret = keys.get(slot), _secrets().get(slot)
    if slot == "llm" and config.providers.llm == "openai" and used is None:
        used, secret = keys.get("openai"), _secrets().get("openai")
    if used is None:
        return ""
    return "secrets" if used == secret else "environment"


def session_keys() -> dict[tuple[str, str], SecretStr]:
    """The session's own keys, by slot and server."""
    return tab.choices().own_keys
