"""Runs the child process that reads a file, and turns each way in which it can end into a frame or one clear error."""

from __future__ import annotations

import contextlib
import json
import signal
import struct
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

from crag.core.config import AppConfig
from crag.core.errors import CancelledError, DamagedError, DocumentError, EmptyError, EncryptedError, LimitError
from crag.ingest.children import Child, start_child

_MOST_FRAME = 64 * 1024 * 1024
_SILENT = 600.0
"""Seconds on the clock that a child may say nothing. What is limited is its processor time, which the system counts: on
a busy machine a file that is fine takes minutes."""
_BEAT = 0.1

Frame = tuple[dict[str, Any], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a child: `seconds` of processor time for the whole file or, with `each`, again for every page.

    `what` names it in Settings. `silent`: the seconds on the clock in which it must say something.
    """

    what: str
    memory_mb: int
    seconds: int
    each: bool = False
    silent: float = _SILENT


def reading(config: AppConfig) -> Limits:
    """The limits of reading a file and drawing a page; each page that is read adds a tenth of a processor second."""
    return Limits(what="the reader's", memory_mb=config.limits.read_memory_mb, seconds=config.limits.read_seconds)


def recognising(config: AppConfig) -> Limits:
    """The limits of text recognition."""
    return Limits(
        what="text recognition's",
        memory_mb=config.limits.recognise_memory_mb,
        seconds=config.limits.recognise_seconds,
        each=True,
    )


def run_child(
    job: Mapping[str, Any],
    data: bytes,
    name: str,
    config: AppConfig,
    cancel: threading.Event | None = None,
    *,
    limits: Limits | None = None,
    command: Sequence[str] | None = None,
) -> Iterator[Frame]:
    """Run a child for `job` and yield the frames that it sends. The child is dead once the iterator ends.

    `command`: another program that speaks the protocol, for tests. `limits` are those of reading unless given.
    Raises CancelledError, or a DocumentError that says why there are no more frames.
    """
    limits = limits or reading(config)
    full = {**job, "memory_mb": limits.memory_mb, "seconds": limits.seconds, "max_pages": config.limits.max_pages}
    process = start_child(job, command)
    assert process.stdin is not None and process.stdout is not None
    head = json.dumps(full).encode() + b"\n"
    watch = _Watch(process, limits, cancel or threading.Event())
    threads = [
        threading.Thread(target=_write, args=(process.stdin, head, data), daemon=True),
        threading.Thread(target=watch.run, daemon=True),
    ]
    for thread in threads:
        thread.start()
    try:
        yield from _frames(process, watch, name, config)
    finally:
        watch.ended.set()
        process.kill()
        process.wait()
        for thread in threads:
            thread.join()
        process.stdout.close()


class _Watch:
    """Kills a child that is out of time or cancelled."""

    def __init__(self, process: Child, limits: Limits, cancel: threading.Event) -> None:
        self.limits, self.cancel, self.ended, self.late = limits, cancel, threading.Event(), False
        self._process = process
        self.extend()

    def run(self) -> None:
        while not self.ended.wait(_BEAT):
            self.late = time.monotonic() > self._until
            if self.late or self.cancel.is_set():
                self._process.kill()
                return

    def extend(self) -> None:
        """Start the wait again: the child has sent something."""
        self._until = time.monotonic() + self.limits.silent


def _write(pipe: IO[bytes], head: bytes, data: bytes) -> None:
    # A child that ends early closes the pipe; why it ended is read from its frames and exit status.
    with contextlib.suppress(BrokenPipeError), pipe:
        pipe.write(head)
        pipe.write(data)


def _frames(process: Child, watch: _Watch, name: str, config: AppConfig) -> Iterator[Frame]:
    assert process.stdout is not None
    finished = False
    while True:
        frame = _read_frame(process.stdout)
        if watch.cancel.is_set():
            raise CancelledError(f"Reading {name} was stopped.", "Add the file again when ready.")
        if watch.late:
            raise _error_of("time", "", name, config, watch.limits)
        if isinstance(frame, str):
            raise DamagedError(f"{name} can't be read: the reader's answer {frame}.")
        if frame is None:
            if not finished:
                raise _error_of_status(process.wait(), name, config, watch.limits)
            return
        message, _ = frame
        if "error" in message:
            kind, detail = str(message["error"]), str(message.get("detail", ""))[:200]
            raise _error_of(kind, detail, name, config, watch.limits)
        watch.extend()
        finished = finished or "done" in message or "image" in message
        yield frame


def _read_frame(pipe: IO[bytes]) -> Frame | str | None:
    """The next frame, what is wrong with it, or None at the end."""
    sizes = pipe.read(8)
    if not sizes:
        return None
    if len(sizes) < 8:
        return "broke off"
    first, second = struct.unpack(">II", sizes)
    if max(first, second) > _MOST_FRAME:
        return "made no sense"
    head, body = pipe.read(first), pipe.read(second)
    if len(head) + len(body) < first + second:
        return "broke off"
    try:
        message = json.loads(head)
    except (ValueError, RecursionError):
        return "made no sense"
    return (message, body) if isinstance(message, dict) else "made no sense"


def _error_of_status(status: int, name: str, config: AppConfig, limits: Limits) -> DocumentError:
    """Why a child ended without a word."""
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        return _error_of("time" if status == -signal.SIGXCPU else "memory", "", name, config, limits)
    if status >= 0:
        return DamagedError(f"{name} can't be read: the reader gave up (status {status}).")
    try:
        word = signal.Signals(-status).name
    except ValueError:
        word = f"signal {-status}"
    return DamagedError(
        f"{name} made the reader stop ({word}): it is damaged, built to do harm, "
        f"or needs more than {limits.memory_mb} MB of memory."
    )


def _error_of(kind: str, detail: str, name: str, config: AppConfig, limits: Limits) -> DocumentError:
    """The error for one of the kinds that a child reports."""
    raise_limit = f"Try another copy; split the document, or raise {limits.what}"
    match kind:
        case "encrypted":
            return EncryptedError(f"{name} is locked with a password.")
        case "no pages" | "no text":
            return EmptyError(f"{name} holds {kind}.", "Open the file in its own program to check it.")
        case "unpacked":
            said = f"{name} holds {detail} when unpacked: it is built to do harm, or too large for the reader."
            return LimitError(said, f"{raise_limit} memory in Settings.")
        case "pages":
            return LimitError(f"{name} has {detail} pages; at most {config.limits.max_pages} are read.")
        case "memory":
            said = f"Reading {name} took more than {limits.memory_mb} MB of memory and was stopped."
            return LimitError(said, f"{raise_limit} memory in Settings.")
        case "time":
            took = f"a page of {name}" if limits.each else name
            said = f"Reading {took} took more than {limits.seconds} seconds and was stopped."
            return LimitError(said, f"{raise_limit} time in Settings.")
        case "pixels":
            size = f" ({detail})" if detail else ""
            said = f"{name} holds a picture of too many pixels{size}: at most 80 million are read."
            return LimitError(said, "Save it with fewer dots an inch: 300 are enough.")
        case "no such page":
            return DocumentError(f"{name} has only {detail} pages.", "Choose a page that exists.")
        case _:
            return DamagedError(f"{name} is damaged or incomplete and can't be opened ({detail or kind}).")
