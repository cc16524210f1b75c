"""A model file run on this machine by llama.cpp's own server, a child process that is loaded when first needed."""

from __future__ import annotations

import asyncio
import atexit
import importlib.util
import json
import logging
import re
import secrets
import subprocess
import sys
import threading
from collections import deque
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import httpx

from crag.core.errors import ModelFileError, UnreachableError
from crag.providers.gguf_child import Job
from crag.runtime.connection import BoundedClient
from crag.runtime.processes import PACKAGE_PARENT, bare_environment

log = logging.getLogger(__name__)

ANYWHERE = "http://model.invalid/v1"
"""The address that a client is made with; where the model really is changes with each start."""
CONTEXT = 6144
"""Tokens, of prompt and reply together, that one conversation has: what is shown of the sources, the rest, a reply."""
SLOTS = 2
"""Conversations that are answered at the same time; more wait."""
LOADING = 300.0
"""Seconds after which a file that does not load is given up."""
IDLE = 900
"""Seconds without a call after which a model gives its memory back; the next call loads it again."""
_ERROR = re.compile(r"[0-9.]{1,40} E [^:\n]{1,100}: (?:error loading model: )?(.{1,300})")
"""A line of llama.cpp's log that says what went wrong."""


def installed() -> bool:
    """Whether what runs model files is there."""
    return importlib.util.find_spec("xllamacpp") is not None


@dataclass(frozen=True, slots=True)
class Running:
    """Where a loaded model is, and the key that it wants. The address ends in /v1."""

    address: str
    key: str
    process: subprocess.Popen[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How a model is loaded, as `crag.providers.gguf_child.Job` says. `threads` 0: all cores but one."""

    threads: int = 0
    context: int = CONTEXT
    slots: int = SLOTS
    idle: int = IDLE
    repeating: float = 0.0
    watched: bool = False


class GgufServer:
    """One model file, for all runs of this process. Thread-safe.

    The process is started when first needed, and ends with this one, however that ends. After a crash the next call
    starts another.
    """

    def __init__(
        self,
        file: Path,
        load: Load = Load(),
        *,
        key: str = "",
        command: Sequence[str] = (sys.executable, "-m", "crag.providers.gguf_child"),
    ) -> None:
        """`key`: what callers must show; none: one that nobody can guess."""
        self.file, self._how, self._key, self._command = file, load, key, command
        self._lock = threading.Lock()
        self._place: Future[Running] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.end)

    @property
    def loaded(self) -> bool:
        """Whether its process runs."""
        return self._process is not None and self._process.poll() is None

    def place(self) -> Future[Running]:
        """Where it is, once it is loaded; begins to load it where it is not. The future raises ModelFileError."""
        with self._lock:
            place = self._place
            if place is not None and (not place.done() or (place.exception() is None and self.loaded)):
                return place
            self._place = loading = Future[Running]()
            loading.set_running_or_notify_cancel()  # who waits may give up; loading goes on for the next one
        threading.Thread(target=self._load, args=(loading,), daemon=True, name="model file").start()
        return loading

    def end(self) -> None:
        """Ends the process, if there is one. The next call starts another."""
        with self._lock:
            process, self._process, self._place = self._process, None, None
        if process is not None:
            process.kill()
            process.wait()

    def _load(self, loading: Future[Running]) -> None:
        try:
            loading.set_result(self._started(loading))
        except Exception as error:  # noqa: BLE001 - those who wait for the future get it
            loading.set_exception(error)

    def _started(self, loading: Future[Running]) -> Running:
        """Start the process and wait until it serves. Raises ModelFileError with what llama.cpp says."""
        key = self._key or secrets.token_urlsafe(32)
        job = Job(file=str(self.file.absolute()), name=self.file.stem, key=key, **asdict(self._how))
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            list(self._command), stdin=pipe, stdout=pipe, stderr=pipe, env=bare_environment(), cwd=PACKAGE_PARENT
        )
        with self._lock:
            self._process = process
            if self._place is not loading:  # ended before it was there
                process.kill()
        said: deque[bytes] = deque(maxlen=100)
        listening = threading.Thread(target=lambda: said.extend(process.stderr or ()), daemon=True)
        listening.start()
        too_late = threading.Timer(LOADING, process.kill)
        too_late.daemon = True
        too_late.start()
        address = _address(process, job)
        too_late.cancel()
        if address:
            return Running(address, key, process)
        process.kill()
        status = process.wait()
        listening.join(1.0)
        lines = b"".join(said).decode("utf-8", "replace")
        log.warning("%s was not loaded (status %s): %s", self.file.name, status, lines)
        errors = (found[1] for line in lines.splitlines() if (found := _ERROR.match(line)))
        why = next(errors, "its process ended").replace(job.file, self.file.name).rstrip(".")
        raise ModelFileError(
            f"could not be loaded: {why}.", "Download it again, or choose another file in Settings.", who=self.file.name
        )


def _address(process: subprocess.Popen[bytes], job: Job) -> str:
    """What the process says once the model is loaded; nothing where it ends before."""
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.write(json.dumps(job._asdict()).encode() + b"\n")
        process.stdin.flush()
        return str(json.loads(process.stdout.readline() or b"{}").get("address", ""))
    except (OSError, ValueError):  # it ended, or what runs there is something else
        return ""


def model_files(folder: Path) -> list[Path]:
    """The GGUF files of a folder, by name; none where there is no such folder."""
    return sorted(each for each in folder.glob("*.gguf") if each.is_file()) if folder.is_dir() else []


@lru_cache(maxsize=64)
def server_of(file: Path, mark: str, threads: int = 0) -> GgufServer:
    """The one that runs a file in this process; `mark` is another where its content is."""
    return GgufServer(file, Load(threads=threads))


class LocalClient(BoundedClient):
    """Takes requests for ANYWHERE to where the model is, which it has loaded if need be, with the key that it wants."""

    def __init__(self, server: GgufServer, **options: Any) -> None:
        super().__init__(trust_env=False, **options)
        self._server = server

    async def send(self, request: httpx.Request, *, stream: bool = False, **options: Any) -> httpx.Response:
        running = await asyncio.wrap_future(self._server.place())
        request.url = request.url.copy_with(host="127.0.0.1", port=httpx.URL(running.address).port)
        request.headers["Host"] = request.url.netloc.decode()
        request.headers["Authorization"] = f"Bearer {running.key}"
        try:
            response = await super().send(request, stream=stream, **options)
        except httpx.TransportError as error:
            raise await self._ended(running, error) from error
        if stream:
            response.stream = _Watched(response.stream, self, running)
        return response

    async def _ended(self, running: Running, error: httpx.TransportError) -> Exception:
        """The error, or what is to be said where the process is gone."""
        try:  # its end is seen a little later than that of the connection
            await asyncio.to_thread(running.process.wait, 1.0)
        except subprocess.TimeoutExpired:
            return error
        return UnreachableError(
            "ended in the middle of its work.", "It is started again when it is next asked.", who=self._server.file.stem
        )


class _Watched(httpx.AsyncByteStream):
    """A reply that says where the process ended in the middle of it."""

    def __init__(self, inner: Any, client: LocalClient, running: Running) -> None:
        self._inner, self._client, self._running = inner, client, running

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._inner:
                yield piece
        except httpx.TransportError as error:
            raise await self._client._ended(self._running, error) from error

    async def aclose(self) -> None:
        await self._inner.aclose()
