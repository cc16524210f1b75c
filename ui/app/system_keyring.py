"""The system's keyring, where one can be used: it keeps a person's API keys from one start to the next.

The package `keyring` is optional. Nothing of it is asked where it is missing or has only backends that keep nothing, or
keep it in plain text.
"""

from __future__ import annotations

from types import ModuleType

from pydantic import SecretStr

from crag.core.errors import StorageError

SERVICE = "CRAG Explorer"
"""The name of the entries; each stands for one slot of one server."""

_USABLE = 1.0
"""The package gives backends that it recommends at least this priority."""
_REMEDY = "The key holds until this page is reloaded or closed. Unlock the keyring, then enter the key again."


def usable() -> bool:
    """Whether keys can be kept here."""
    return _keyring() is not None


def read(slot: str, server: str) -> SecretStr | None:
    """The key of a slot for a server; None where there is none, or where the keyring does not give it."""
    keyring = _keyring()
    if keyring is None:
        return None
    try:
        found = keyring.get_password(SERVICE, _entry(slot, server))
    except Exception:  # noqa: BLE001 - each backend has errors of its own
        return None
    return SecretStr(found) if found else None


def write(slot: str, server: str, key: SecretStr) -> None:
    """Keep a key in place of an earlier one. Raises StorageError, without the key."""
    keyring = _keyring()
    try:
        if keyring is not None:
            keyring.set_password(SERVICE, _entry(slot, server), key.get_secret_value())
    except Exception as error:  # noqa: BLE001 - each backend has errors of its own
        raise StorageError(f"The system's keyring could not store the key ({type(error).__name__}).", _REMEDY) from None


def delete(slot: str, server: str) -> None:
    """Remove a key, if there is one. Raises StorageError."""
    keyring = _keyring()
    try:
        if keyring is not None and keyring.get_password(SERVICE, _entry(slot, server)) is not None:
            keyring.delete_password(SERVICE, _entry(slot, server))
    except Exception as error:  # noqa: BLE001 - each backend has errors of its own
        raise StorageError(
            f"The system's keyring could not remove a key ({type(error).__name__}).",
            f"Remove the entry of “{SERVICE}” with the keyring's own program.",
        ) from None


def _entry(slot: str, server: str) -> str:
    return f"{slot} for {server}"


def _keyring() -> ModuleType | None:
    """The package, where it is installed and its backend keeps secrets."""
    try:
        import keyring
    except ImportError:
        return None
    try:
        return keyring if keyring.get_keyring().priority >= _USABLE else None
    except Exception:  # noqa: BLE001 - a backend may fail as it is asked how well it works
        return None
