"""What a person chose in Settings, kept for the next start where one person alone uses the app: a file without keys."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import streamlit as st
from pydantic import BaseModel, ConfigDict

from crag.core.config import AppConfig
from crag.core.errors import CragError, StorageError
from crag.core.strategies import STRATEGIES
from crag.storage.values import KeyValueStore
from ui.access import allowed_choices

FILE = "choices.json"
"""In the data folder."""

_UNUSABLE = (
    f"Your saved choices were not used: {FILE} in the data folder is damaged or from another version. The defaults "
    "apply, and your next choice replaces the file."
)
_lock = threading.Lock()


class SavedChoices(BaseModel):
    """The choices of one person.

    `providers`: settings of the configuration that were chosen, by name. `strategies`: changed settings of each
    strategy. `keys`: slot and server of each key that the system's keyring holds; the keys themselves are nowhere here.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1
    strategy: str = "balanced"
    providers: dict[str, Any] = {}
    strategies: dict[str, dict[str, Any]] = {}
    keys: tuple[tuple[str, str], ...] = ()


def read(own: AppConfig) -> tuple[SavedChoices, str]:
    """The saved choices under the program's configuration `own`, and what is wrong with them in one sentence.

    Where something is wrong, the defaults; where nothing was saved, too.
    """
    try:
        stored = _store(own).read(FILE)
        return (SavedChoices() if stored is None else _checked(stored, own)), ""
    except StorageError as error:
        return SavedChoices(), _failed("read", error)
    except (ValueError, CragError):
        return SavedChoices(), _UNUSABLE


def change(own: AppConfig, update: Callable[[SavedChoices], dict[str, Any]]) -> str:
    """Save what `update` makes of the saved choices: fields and their new values. What failed, in one sentence."""
    with _lock:
        saved, _ = read(own)
        changed = saved.model_copy(update=update(saved))
        if changed == saved:
            return ""
        try:
            _store(own).put(FILE, (changed.model_dump_json(indent=2) + "\n").encode())
        except StorageError as error:
            return _failed("saved", error)
    return ""


def forget(own: AppConfig) -> str:
    """Remove the file. What failed, in one sentence."""
    with _lock:
        try:
            (own.storage.data / FILE).unlink(missing_ok=True)
        except OSError as error:
            return f"Your saved choices can't be removed ({error.strerror or type(error).__name__})."
    return ""


@st.cache_resource(show_spinner=False)
def at_start(folder: Path, _own: AppConfig) -> SavedChoices:
    """The choices that were saved when this process first looked: their servers get the environment's keys."""
    return read(_own)[0]


def _store(own: AppConfig) -> KeyValueStore:
    return KeyValueStore(own.storage.data)


def _checked(stored: bytes, own: AppConfig) -> SavedChoices:
    """The choices with values of the types that settings have. Raises ValueError, SettingsError."""
    found = SavedChoices.model_validate_json(stored)
    if not found.strategies.keys() <= STRATEGIES.keys():
        raise ValueError("an unknown strategy")
    if not found.providers.keys() <= set(allowed_choices.choices()):
        raise ValueError("an unknown setting")
    config = own.changed(**found.providers)
    strategies = {}
    for name, changes in found.strategies.items():
        settings = STRATEGIES[name].settings.changed(**changes).model_dump()
        strategies[name] = {field: settings[field] for field in changes}
    return found.model_copy(
        update={"providers": {name: config.get(name) for name in found.providers}, "strategies": strategies}
    )


def _failed(done: str, error: StorageError) -> str:
    cause = error.__cause__
    why = cause.strerror if isinstance(cause, OSError) and cause.strerror else error.message.rstrip(".")
    return f"Your choices can't be {done} ({why}). What you choose holds until this page is reloaded or closed."
