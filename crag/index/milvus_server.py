"""A connection to Milvus as the index uses it: time limits, and errors in words.

Messages hold neither the address nor the token, and nothing that the server says, which may name its hosts and paths.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from crag.core.errors import IndexUnavailableError, SettingsError

CONNECT_SECONDS = 3.0
"""How long an address may take to answer at all."""
_OLDEST = (2, 6)
"""The first version that has BM25 and takes a weighted sum of scores as they are."""
_NO_COLLECTION, _LEGACY_NO_COLLECTION, _NOT_LOADED = 100, 4, 101
_LOST = ("connecting", "connection", "closed channel", "channel not", "retry timeout")
_SCHEMES = ("http", "tcp", "https")


class MissingError(Exception):
    """There is no such collection."""


class NotLoadedError(Exception):
    """The collection is there and not in memory: a server was started again."""


class LostError(IndexUnavailableError):
    """The server can't be reached, or does not answer."""


class Connection:
    """A client of one address. Thread-safe; nothing is asked before `call`.

    After a failure to reach it the client is let go of, and the next call makes a new one: so a server that comes back
    is used again.
    """

    def __init__(self, uri: str, token: str, timeout: float) -> None:
        """Raises SettingsError for what is no address."""
        self._path = Path(uri).absolute() if uri.endswith(".db") else None
        if self._path is None:
            _check(uri)
        self._uri, self._token, self._timeout = str(self._path or uri), token, timeout
        self._client: Any = None
        self._lock = threading.RLock()
        self.lite = False
        """Whether it is Milvus Lite, which wants writes one after another and a flush after each."""
        self.ready = False
        """Whether the collection was looked at since it was connected."""

    def call(self, method: str, *given: Any, seconds: float | None = None, **named: Any) -> Any:
        """What MilvusClient's `method` returns. Raises IndexUnavailableError, MissingError and NotLoadedError."""
        with self._lock:
            client = self._client = self._client or self._connect()
        limit = seconds or self._timeout
        return self.run(lambda: getattr(client, method)(*given, timeout=limit, **named), limit)

    def run(self, step: Callable[[], Any], limit: float = 0.0) -> Any:
        """What a step on something that `call` returned returns, with its errors translated."""
        try:
            with _translated(limit or self._timeout):
                return step()
        except LostError:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection. A file of Milvus Lite stays open until this process ends."""
        with self._lock:
            client, self._client, self.ready = self._client, None, False
        if client is not None:
            client.close()

    def _connect(self) -> Any:
        try:
            import pymilvus
        except ImportError as error:
            raise IndexUnavailableError(
                "Milvus is chosen, but its client is not installed.",
                'Run: pip install "pymilvus>=3,<4" "milvus-lite>=3.2,<4"',
            ) from error
        for name in ("pymilvus", "milvus_lite"):  # They would write each failure, with its traceback, to the terminal.
            logging.getLogger(name).setLevel(logging.CRITICAL)
        if self._path is not None:
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _translated(CONNECT_SECONDS):
            # One of its own: a shared one, once broken, would be given again.
            client = pymilvus.MilvusClient(self._uri, token=self._token, timeout=CONNECT_SECONDS, dedicated=True)
            version = str(client.get_server_version(timeout=CONNECT_SECONDS))
        self.lite = version.startswith("milvus_lite")
        found = re.search(r"(?<!\d)(\d++)\.(\d+)", version)
        if not self.lite and found and (int(found[1]), int(found[2])) < _OLDEST:
            client.close()
            raise IndexUnavailableError(
                f"This Milvus is of version {found[0]}, which is too old for the search.",
                f"Use Milvus {_OLDEST[0]}.{_OLDEST[1]} or later.",
            )
        return client


@contextmanager
def _translated(limit: float) -> Iterator[None]:
    """Errors of the client as this project's."""
    from grpc import RpcError
    from pymilvus.exceptions import MilvusException

    try:
        yield
    except (MilvusException, RpcError) as error:
        raise _translate(error, limit) from error


_CAUSES = (
    (
        ("unauthenticated", "permission_denied", "auth check"),
        IndexUnavailableError,
        "Milvus refuses the token.",
        "Set CRAG_MILVUS_TOKEN to one that it accepts.",
    ),
    (
        ("open local milvus failed",),
        IndexUnavailableError,
        "The file of Milvus Lite can't be opened: another process uses it, or it is damaged.",
        "One process alone can use such a file; for several, start a server and set CRAG_MILVUS_URI to it.",
    ),
    (
        ("database not found",),
        IndexUnavailableError,
        "That Milvus has no such database.",
        "Correct the end of CRAG_MILVUS_URI, or make the database.",
    ),
    (
        ("deadline",),
        LostError,
        "Milvus did not answer within {limit:g} seconds.",
        "Try again; see whether it is overloaded.",
    ),
    (
        ("[lost]",),
        LostError,
        "Milvus can't be reached.",
        "See whether it runs, and whether CRAG_MILVUS_URI is its address; then try again.",
    ),
    (
        ("code 8 ", "code 9 ", "quota", "rate limit", "no space left", "disk full", "memory limit"),
        IndexUnavailableError,
        "Milvus takes no more: a limit of it is reached, or its disk or memory is full.",
        "Give it more room, or try again later; everything stored is intact.",
    ),
)
"""Words of an error or names of its status, the first that fit: what it is here, what is said and what helps."""


def _translate(error: Exception, limit: float) -> Exception:
    codes, legacy = _codes(error), getattr(error, "compatible_code", None)
    status = next((each.name for each in codes if hasattr(each, "name") and not isinstance(each, int)), "")
    said = f"{status} code {codes[0]} {error}".lower()
    if status in ("UNAVAILABLE", "CANCELLED") or (not status and any(word in said for word in _LOST)):
        said += "[lost]"
    if codes[0] == _NO_COLLECTION or legacy == _LEGACY_NO_COLLECTION:
        return MissingError()
    if _NOT_LOADED in (codes[0], legacy) or "not loaded" in said:
        return NotLoadedError()
    for words, kind, message, remedy in _CAUSES:
        if any(word in said for word in words):
            return kind(message.format(limit=limit), remedy)
    return IndexUnavailableError(f"Milvus failed ({type(error).__name__}, code {status or codes[0]}).")


def _codes(error: Exception) -> list[Any]:
    """The codes of an error and of what it came of: the client puts its own over the server's."""
    chain: list[BaseException] = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) is not None and cause not in chain:
        chain.append(cause)
    codes = [getattr(each, "code", None) for each in chain]
    return [code() if callable(code) else code for code in codes]


def _check(uri: str) -> None:
    try:
        parts = urlsplit(uri)
        sound = parts.scheme in _SCHEMES and parts.hostname and parts.port != 0
    except ValueError:
        sound = False
    if not sound:
        raise SettingsError(
            "milvus_uri is no address of a Milvus server.",
            "Set CRAG_MILVUS_URI to http://host:19530, to the https:// address of a cloud, or to a path ending in .db.",
        )
    if parts.username or parts.password:
        raise SettingsError(
            "milvus_uri holds a password, which would be shown where settings are.",
            "Take it out of CRAG_MILVUS_URI, and set CRAG_MILVUS_TOKEN to user:password.",
        )
