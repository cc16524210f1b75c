"""Private libraries: keys that this program alone gives out, and libraries that are named by a hash of them.

Anyone who has the key has the library, so the key is written nowhere: not in a name, a record, an export or a log.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import secrets
import shutil
from functools import cached_property
from pathlib import Path

from crag.storage.database import Database
from crag.storage.places import DataFolder, Libraries, ServerLibraries
from crag.storage.postgres import Server
from crag.storage.values import SIGNED_WITH, KeyValueStore

_log = logging.getLogger(__name__)

_SECRET = 32
"""Bytes of what keys are signed with."""
_RANDOM, _SIGN = 32, 16
"""Hexadecimal digits of a key: what is random, and the sign that this program puts behind it."""
_KEY = re.compile(rf"[0-9a-f]{{{_RANDOM + _SIGN}}}")


def name_of(key: str) -> str:
    """The name of a key's library: it tells nothing of the key."""
    return "p-" + hashlib.sha256(f"crag library {key}".encode()).hexdigest()[:40]


class PrivateLibraries:
    """The private libraries of one data folder or database. Thread-safe; several processes may serve the same one."""

    def __init__(self, data: Path, server: Server | None = None) -> None:
        """With a `server` they are there, and so is what their keys are signed with."""
        self._data = data
        self.libraries: Libraries = DataFolder(data) if server is None else ServerLibraries(server)
        """All libraries, named ones too."""
        self._values = KeyValueStore(data, server)
        self.root = data / "workspaces"
        """Holds a folder for each library: its index at least."""

    def issue(self) -> str:
        """A new key. Nothing is stored for it. Raises StorageError where the data folder can't be used."""
        random = secrets.token_hex(_RANDOM // 2)
        return random + self._sign(random)

    def known(self, key: str) -> bool:
        """Whether this program gave the key out."""
        return bool(_KEY.fullmatch(key)) and hmac.compare_digest(self._sign(key[:_RANDOM]), key[_RANDOM:])

    def holds(self, name: str) -> bool:
        """Whether there is a library of this name, empty or not. Raises StorageError."""
        return Database(self.libraries.store(name)).exists

    def remove(self, name: str) -> None:
        """Remove a library, which must be closed here, with all that it holds. Raises as `DataFolder.remove` does."""
        self.libraries.remove(name)
        shutil.rmtree(self.root / name, ignore_errors=True)  # the index of a library in a database

    def settle(self) -> None:
        """Once at the start, make everything readable by its owner alone.

        What fails is logged and left as it is: one broken library must not keep the program from starting.
        """
        for place in (self._data, self.root, *self.root.glob("*"), *self.root.glob("*/*")):
            try:
                if not any(each.is_symlink() for each in (place, place.parent)) and place.stat().st_mode & 0o077:
                    place.chmod(0o700 if place.is_dir() else 0o600)
            except OSError as error:
                _log.warning("the rights to %s were left as they are: %s", place.name, error.strerror)

    def _sign(self, random: str) -> str:
        return hmac.new(self._secret, random.encode(), hashlib.sha256).hexdigest()[:_SIGN]

    @cached_property
    def _secret(self) -> bytes:
        """What keys are signed with: made once, and kept beside the libraries."""
        return self._values.first(SIGNED_WITH, secrets.token_bytes(_SECRET))
