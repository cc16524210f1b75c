"""Runs the child process that reads a file, and turns every way it can end into a frame or one clear error."""

from __future__ import annotations

import contextlib
import json
import queue
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

from crag.core.config import AppConfig
from crag.core.errors import CancelledError, DamagedError, DocumentError, EmptyError, EncryptedError, LimitError
from crag.runtime.processes import PACKAGE_PARENT, bare_environment

_MOST_FRAME = 64 * 1024 * 1024
_WALL_SPARE = 6.0  # seconds beyond the processor limit; with the default limit everything ends within 30
_BEAT = 0.1

Frame = tuple[dict[str, Any], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a child may take: `seconds` of the processor for the whole file, or, with `each`, for every page again.

    `what` names it in Settings. It has `spare` seconds more on the clock.
    """

    what: str
    memory_mb: int
    seconds: int
    each: bool = False
    spare: float = _WALL_SPARE


def reading(config: AppConfig) -> Limits:
    """What reading a file and drawing a page may take; of the processor, a tenth of a second more for each page."""
    return Limits(what="the reader's", memory_mb=config.limits.read_memory_mb, seconds=config.limits.read_seconds)


def recognising(config: AppConfig) -> Limits:
    """What text recognition may take."""
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
    command: Sequence[str] = (sys.executable, "-m", "crag.ingest.child"),
) -> Iterator[Frame]:
    """The frames that the child sends for `job`, as they come; the child is dead when the iterator is.

    `command` is what runs as the child: another program that speaks the protocol may stand in for it. The child has
    the processor seconds of `limits` (those of reading, if not given).
    Raises a DocumentError subclass that says why there are no more frames, or CancelledError.
    """
    limits = limits or reading(config)
    full = {**job, "memory_mb": limits.memory_mb, "seconds": limits.seconds, "max_pages": config.limits.max_pages}
    process = subprocess.Popen(
        list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=bare_environment(),
        cwd=PACKAGE_PARENT,
        start_new_session=True,
    )
    if process.stdin is None or process.stdout is None:
        raise DamagedError(f"The reader for {name} could not be started.")
    frames: queue.Queue[Frame | str | None] = queue.Queue(maxsize=64)
    stopped = threading.Event()
    head = json.dumps(full).encode() + b"\n"
    writer = threading.Thread(target=_write, args=(process.stdin, head, data), daemon=True)
    reader = threading.Thread(target=_collect, args=(process.stdout, frames, stopped), daemon=True)
    writer.start()
    reader.start()
    try:
        yield from _frames(process, frames, name, config, limits, cancel)
    finally:
        stopped.set()
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.wait()
        writer.join()
        reader.join()
        process.stdout.close()


def _write(pipe: IO[bytes], head: bytes, data: bytes) -> None:
    # A child that ends early closes the pipe; why it ended is read from its frames and exit status.
    with contextlib.suppress(BrokenPipeError), pipe:
        pipe.write(head)
        pipe.write(data)


def _collect(pipe: IO[bytes], frames: queue.Queue[Frame | str | None], stopped: threading.Event) -> None:
    """Move frames from the pipe to the queue; a text stands for a broken protocol, None for the end."""
    last: Frame | str | None = None
    try:
        while True:
            sizes = pipe.read(8)
            if len(sizes) < 8:
                last = "the reader's answer broke off" if sizes else None
                break
            first, second = struct.unpack(">II", sizes)
            if first > _MOST_FRAME or second > _MOST_FRAME:
                last = "the reader's answer made no sense"
                break
            head, body = pipe.read(first), pipe.read(second)
            if len(head) < first or len(body) < second:
                last = "the reader's answer broke off"
                break
            message = json.loads(head)
            if not isinstance(message, dict):
                last = "the reader's answer made no sense"
                break
            if not _put(frames, (message, body), stopped):
                return
    except ValueError:
        last = "the reader's answer made no sense"
    _put(frames, last, stopped)


def _put(frames: queue.Queue[Frame | str | None], item: Frame | str | None, stopped: threading.Event) -> bool:
    while not stopped.is_set():
        try:
            frames.put(item, timeout=_BEAT)
        except queue.Full:
            continue
        return True
    return False


def _frames(
    process: subprocess.Popen[bytes],
    frames: queue.Queue[Frame | str | None],
    name: str,
    config: AppConfig,
    limits: Limits,
    cancel: threading.Event | None,
) -> Iterator[Frame]:
    began, read = time.monotonic(), 0
    finished = False
    while True:
        if cancel is not None and cancel.is_set():
            raise CancelledError(f"Reading {name} was stopped.", "Add the file again when ready.")
        allowed = limits.seconds + limits.spare + read / 5
        if time.monotonic() - began > allowed:
            raise _too_slow(name, limits)
        try:
            item = frames.get(timeout=_BEAT)
        except queue.Empty:
            continue
        if item is None:
            if not finished:
                raise _died(process, name, limits)
            return
        if isinstance(item, str):
            raise DamagedError(f"{name} can't be read: {item}.")
        message, _ = item
        if "error" in message:
            raise _error_from(message, name, config, limits)
        if limits.each:
            began = time.monotonic()
        else:
            read += "page" in message
        finished = finished or "done" in message or "image" in message
        yield item


def _died(process: subprocess.Popen[bytes], name: str, limits: Limits) -> DocumentError:
    """Why a child ended without saying so."""
    status = process.wait()
    if status == -signal.SIGXCPU:
        return _too_slow(name, limits)
    if status == -signal.SIGKILL:
        return _too_large(name, limits)
    if status < 0:
        try:
            word = signal.Signals(-status).name
        except ValueError:
            word = f"signal {-status}"
        return DamagedError(
            f"{name} made the reader stop ({word}): it is damaged, built to do harm, "
            f"or needs more than {limits.memory_mb} MB of memory."
        )
    return DamagedError(f"{name} can't be read: the reader gave up (status {status}).")


def _too_slow(name: str, limits: Limits) -> LimitError:
    took = f"a page of {name}" if limits.each else name
    return LimitError(
        f"Reading {took} took more than {limits.seconds} seconds and was stopped.",
        f"Try another copy; split the document, or raise {limits.what} time in Settings.",
    )


def _too_large(name: str, limits: Limits) -> LimitError:
    return LimitError(
        f"Reading {name} took more than {limits.memory_mb} MB of memory and was stopped.",
        f"Try another copy; split the document, or raise {limits.what} memory in Settings.",
    )


def _error_from(message: Mapping[str, Any], name: str, config: AppConfig, limits: Limits) -> DocumentError:
    """The error that the child reported."""
    kind, detail = str(message.get("error")), str(message.get("detail", ""))[:200]
    match kind:
        case "encrypted":
            return EncryptedError(f"{name} is locked with a password.")
        case "no pages":
            return EmptyError(f"{name} has no pages.", "Open the file in a PDF viewer to check it, then try another.")
        case "no text":
            return EmptyError(f"{name} holds no text.", "Open the file in its own program to check it.")
        case "unpacked":
            return LimitError(
                f"{name} holds {detail} when unpacked: it is built to do harm, or too large for the reader.",
                "Try another copy; split the document, or raise the reader's memory in Settings.",
            )
        case "pages":
            return LimitError(f"{name} has {detail} pages; at most {config.limits.max_pages} are read.")
        case "memory":
            return _too_large(name, limits)
        case "pixels":
            size = f" ({detail})" if detail else ""
            return LimitError(
                f"{name} holds a picture of too many pixels{size}: at most 80 million are read.",
                "Save it with fewer dots an inch: 300 are enough.",
            )
        case "no such page":
            return DocumentError(f"{name} has only {detail} pages.", "Choose a page that exists.")
        case _:
            return DamagedError(f"{name} is damaged or incomplete and can't be opened ({detail or kind}).")
