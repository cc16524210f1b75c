"""A Milvus server as the index uses it: one connection a process, time limits, and errors in words.

Messages hold neither the address nor the token, and nothing that the server says, which may name its hosts and paths.
"""

from __future__ import annotations

import logging
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from crag.core.errors import IndexUnavailableError, SettingsError

log = logging.getLogger(__name__)

CONNECT_SECONDS = 3.0
"""How long an address may take to answer at all."""
_OLDEST = (2, 6)
"""The first version that has BM25 and takes a weighted sum of scores as they are."""
_NO_COLLECTION, _LEGACY_NO_COLLECTION, _NOT_LOADED = 100, 4, 101
_FULL_CODES = (8, 9)
_FULL = ("quota", "rate limit", "no space left", "disk full", "memory limit")
_LOST = ("connecting", "connection", "closed channel", "channel not", "retry timeout")
_PORTS = {"http": 19530, "tcp": 19530, "https": 443}


class MissingError(Exception):
    """There is no such collection."""


class NotLoadedError(Exception):
    """The collection is there and not in memory: a server was started again."""


class LostError(IndexUnavailableError):
    """The server can't be reached, or does not answer."""


class Server:
    """What is behind one address, shared by all indexes of this process. Thread-safe; nothing is asked before `call`.

    After a failure to reach it the connection is let go of, and the next call makes a new one: so a server that comes
    back is used again, and one that is down is reported at once.
    """

    def __init__(self, uri: str, token: str, timeout: float) -> None:
        self._uri, self._token, self._timeout = uri, token, timeout
        self._path = Path(uri) if uri.endswith(".db") else None
        self._client: Any = None
        self._lock = threading.RLock()
        self.key = (uri, token)
        self.users = 0
        self.lite = False
        """Whether it is Milvus Lite, which wants writes one after another and a flush after each."""
        self.ready = set[str]()
        """The collections that were looked at since it was connected."""
        self.writing = threading.Lock()

    def call(self, method: str, *given: Any, seconds: float | None = None, **named: Any) -> Any:
        """What MilvusClient's `method` returns. Raises IndexUnavailableError, MissingError and NotLoadedError."""
        client = self._connected()
        limit = seconds or self._timeout
        with self._translated(limit, client):
            return getattr(client, method)(*given, timeout=limit, **named)

    def run(self, step: Callable[[], Any]) -> Any:
        """What a step of something that `call` returned returns, with its errors translated."""
        with self._translated(self._timeout, None):
            return step()

    def close(self) -> None:
        """Close the connection; in the last use, also the file of Milvus Lite, which one process alone may hold."""
        with self._lock:
            self._drop()
            if self._path is not None and not self.users:
                from milvus_lite.server_manager import server_manager_instance

                server_manager_instance.release_server(str(self._path))

    def _connected(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = self._connect()
            return self._client

    def _connect(self) -> Any:
        try:
            import pymilvus
        except ImportError as error:
            raise IndexUnavailableError(
                "Milvus is chosen, but its client is not installed.",
                'Run: pip install "pymilvus>=3,<4" "milvus-lite>=3.2,<4"',
            ) from error
        _quieten()
        if self._path is not None:
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
        else:
            self._reach()
        with self._translated(CONNECT_SECONDS, None):
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

    def _reach(self) -> None:
        """Try the address first: the client waits for its whole time limit where a machine refuses at once."""
        parts = urlsplit(self._uri)
        try:
            socket.create_connection(
                (parts.hostname or "", parts.port or _PORTS[parts.scheme]), timeout=CONNECT_SECONDS
            ).close()
        except OSError as error:
            raise _unreachable() from error

    def _drop(self) -> None:
        client, self._client = self._client, None
        self.ready.clear()
        if client is not None:
            client.close()

    @contextmanager
    def _translated(self, limit: float, client: Any) -> Iterator[None]:
        """Errors of the client as this project's. The connection is let go of where it may be at fault."""
        from grpc import RpcError
        from pymilvus.exceptions import MilvusException

        try:
            yield
        except (MilvusException, RpcError) as error:
            translated = self._translate(error, limit)
            if isinstance(translated, LostError):
                with self._lock:
                    if client is not None and client is self._client:
                        self._drop()
            raise translated from error

    def _translate(self, error: Exception, limit: float) -> Exception:
        codes, said = _codes(error), f"{error}".lower()
        code, legacy = codes[0], getattr(error, "compatible_code", None)
        status = next((each.name for each in codes if hasattr(each, "name") and not isinstance(each, int)), "")
        if code == _NO_COLLECTION or legacy == _LEGACY_NO_COLLECTION:
            return MissingError()
        if code == _NOT_LOADED or legacy == _NOT_LOADED or "not loaded" in said:
            return NotLoadedError()
        if status in ("UNAUTHENTICATED", "PERMISSION_DENIED") or _any("auth check", "unauthenticated", of=said):
            return IndexUnavailableError("Milvus refuses the token.", "Set CRAG_MILVUS_TOKEN to one that it accepts.")
        if "open local milvus failed" in said:
            return IndexUnavailableError(
                "The file of Milvus Lite can't be opened: another process uses it, or it is damaged.",
                "One process alone can use such a file; for several, start a server and set CRAG_MILVUS_URI to it.",
            )
        if "database not found" in said:
            return IndexUnavailableError(
                "That Milvus has no such database.", "Correct the end of CRAG_MILVUS_URI, or make the database."
            )
        if status == "DEADLINE_EXCEEDED" or "deadline" in said:
            return LostError(
                f"Milvus did not answer within {limit:g} seconds.", "Try again; see whether it is overloaded."
            )
        if status in ("UNAVAILABLE", "CANCELLED") or (not status and _any(*_LOST, of=said)):
            return _unreachable()
        if code in _FULL_CODES or _any(*_FULL, of=said):
            return IndexUnavailableError(
                "Milvus takes no more: a limit of it is reached, or its disk or memory is full.",
                "Give it more room, or try again later; everything stored is intact.",
            )
        return IndexUnavailableError(f"Milvus failed ({type(error).__name__}, code {status or code}).")


def _codes(error: Exception) -> list[Any]:
    """The codes of an error and of what it came of: the client puts its own over the server's."""
    chain: list[BaseException] = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) is not None and cause not in chain:
        chain.append(cause)
    codes = [getattr(each, "code", None) for each in chain]
    return [code() if callable(code) else code for code in codes]


def _any(*phrases: str, of: str) -> bool:
    return any(phrase in of for phrase in phrases)


def _unreachable() -> LostError:
    return LostError(
        "Milvus can't be reached.", "See whether it runs, and whether CRAG_MILVUS_URI is its address; then try again."
    )


# Shared by all indexes of the process

_servers: dict[tuple[str, str], Server] = {}
_guard = threading.Lock()


def opened(uri: str, token: str, timeout: float) -> Server:
    """The server of an address, to be closed by `closed`. Raises SettingsError for what is no address."""
    if uri.endswith(".db"):
        uri = str(Path(uri).absolute())
    else:
        _check(uri)
    with _guard:
        found = _servers.setdefault((uri, token), Server(uri, token, timeout))
        found.users += 1
        return found


def close_server(server: Server) -> None:
    """Let go of a server; who is the last closes its connection, and frees the file of Milvus Lite."""
    with _guard:
        server.users -= 1
        if not server.users:
            _servers.pop(server.key, None)
            server.close()


def _check(uri: str) -> None:
    try:
        parts = urlsplit(uri)
        sound = parts.scheme in _PORTS and parts.hostname and parts.port != 0
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


class _Quiet(logging.Handler):
    """Passes on what the client logs, a line each, at the level for debugging: failures are reported as errors
    anyhow.
    """

    def emit(self, record: logging.LogRecord) -> None:
        said = (record.getMessage().splitlines() or [""])[0]
        for _, token in tuple(_servers):
            said = said.replace(token or "\0", "…")
        log.debug("%s: %s", record.name, said)


def _quieten() -> None:
    """The client writes each failure with its traceback to the terminal: keep that for debugging."""
    for name in ("pymilvus", "pymilvus.milvus_client", "milvus_lite"):
        logger = logging.getLogger(name)
        if not any(isinstance(each, _Quiet) for each in logger.handlers):
            logger.handlers, logger.propagate = [_Quiet()], False
