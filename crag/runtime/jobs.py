"""Background work: a job runs in a thread of its own, and others attach to it, follow its events and stop it."""

from __future__ import annotations

import asyncio
import concurrent.futures.thread  # noqa: F401 - first, so that what it does at the end comes after what is done here
import contextvars
import errno
import logging
import secrets
import threading
import time
import traceback
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from crag.core.errors import CancelledError, CragError, StorageError
from crag.runtime.fair_queue import FairQueue, QueueTicket
from crag.runtime.limits import Shares
from crag.runtime.slow_clients import RefusedError

T = TypeVar("T")
E = TypeVar("E")
JobFunction = Callable[[threading.Event, Callable[[E], None]], None]
"""What a job does: it is given the event that asks it to stop, and a function that takes its events."""

PATIENCE = 1800.0
"""Seconds a job waits for its person's word before silence counts as a no."""
KEPT, KEPT_SECONDS = 32, 3600.0
"""How many jobs that are over are kept, and for how long at most."""

_log = logging.getLogger(__name__)


class Job(Generic[E]):
    """One run or one upload under way: its events so far, whether it is over, and how to stop it. Thread-safe.

    `label` is what a person calls the work. Only those in its `workspace` find it. `who` is the id of the person who
    started it, "" without sign-in. `error` is what the work raised, `problem` the same in words.
    """

    def __init__(
        self,
        kind: str,
        label: str,
        work: JobFunction[E],
        workspace: str = "",
        *,
        who: str = "",
        patience: float = PATIENCE,
        cancel: threading.Event | None = None,
        id: str | None = None,
    ) -> None:
        """`patience`: how many seconds `ask` waits. `cancel` asks the work to stop. It runs from `start` on.

        `id`: what it is found under; None: a new, unguessable one.
        """
        self.id = id or secrets.token_urlsafe(12)
        self.kind, self.label, self.workspace, self.who = kind, label, workspace, who
        self.error: BaseException | None = None
        self.over_at: float | None = None
        self._work_of: JobFunction[E] | None = work
        self._events: list[E] = []
        self._changed = threading.Condition()
        self._cancel = cancel or threading.Event()
        self._patience = patience
        self._asked = 0
        self._answers: dict[int, bool] = {}

    @property
    def problem(self) -> CragError | None:
        """Why the work failed, in words; None where it did not."""
        error = self.error
        if error is None or isinstance(error, CragError):
            return error
        return _explain(error) or CragError(
            f"The work stopped on a defect of this program ({type(error).__name__}).",
            "Try again; the log of the server holds the details for a report.",
        )

    @property
    def running(self) -> bool:
        return self.over_at is None

    @property
    def stopping(self) -> bool:
        """Stop was asked for; the work ends at its next safe point."""
        return self._cancel.is_set()

    def stop(self) -> None:
        with self._changed:
            self._cancel.set()
            self._changed.notify_all()

    def ask(self, question: str) -> bool:
        """The person's answer: waits for it in the thread that does the work. Its events say what is asked.

        False at once when Stop is pressed, and when nobody has answered for so long that nobody is there.
        """
        with self._changed:
            self._asked += 1
            number = self._asked
            self._changed.wait_for(lambda: number in self._answers or self.stopping, self._patience)
            return not self.stopping and self._answers.setdefault(number, False)

    def answer(self, number: int, yes: bool) -> None:
        """Answer the question of this number, counted from 1. The first answer counts; others change nothing."""
        with self._changed:
            self._answers.setdefault(number, yes)
            self._changed.notify_all()

    def answered(self, number: int) -> bool:
        """Whether the question of this number has had its answer."""
        with self._changed:
            return number in self._answers

    def start(self, *, daemon: bool = True) -> None:
        """Run in the context of the caller. A `daemon` is not waited for when the process ends."""
        _started.add(self)
        work = contextvars.copy_context().run
        threading.Thread(target=work, args=(self._work,), name=f"{self.kind}-job", daemon=daemon).start()

    def events(self) -> list[E]:
        """What has happened so far."""
        with self._changed:
            return list(self._events)

    def follow(self, beat: float = 0.25) -> Iterator[list[E]]:
        """The new events, at once as they come and at least every `beat` seconds (then maybe none), until it is over.

        The last item is yielded after the job ended, so a reader of every item has read the end.
        """
        seen = 0
        while True:
            with self._changed:
                if self.running and len(self._events) == seen:
                    self._changed.wait(beat)
                fresh, over = self._events[seen:], not self.running
            seen += len(fresh)
            yield fresh
            if over:
                return

    def first(self, seconds: float) -> E | None:
        """The first event, as soon as there is one; None if the job ends without any, or within `seconds`."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._events) or not self.running, seconds)
            return self._events[0] if self._events else None

    def wait(self, seconds: float | None = None) -> bool:
        """Whether it is over within `seconds`; None: it is waited for."""
        with self._changed:
            return self._changed.wait_for(lambda: not self.running, seconds)

    def _record(self, event: E) -> None:
        with self._changed:
            self._events.append(event)
            self._changed.notify_all()

    def _work(self) -> None:
        work, self._work_of = self._work_of, None  # what it works on is let go with it, though the job is kept
        try:
            if work is not None:
                work(self._cancel, self._record)
        except BaseException as error:  # noqa: BLE001
            # The thread's last line of defence: a defect must reach the person in words, and the log in full.
            self.error = error
            if not isinstance(error, CragError) and _explain(error) is None:
                _log.exception("The %s job stopped on a defect", self.kind)
            traceback.clear_frames(error.__traceback__)
        finally:
            del work
            with self._changed:
                self.over_at = time.monotonic()
                self._changed.notify_all()


_started: weakref.WeakSet[Job[Any]] = weakref.WeakSet()


def _stop_all() -> None:
    """Stops what still runs when the process is to end."""
    for job in list(_started):
        job.stop()


# A run works in pool threads, for which Python waits before it calls any atexit function: one that waits for its
# person would keep the process from ending.
threading._register_atexit(_stop_all)  # type: ignore[attr-defined]


class Jobs:
    """All jobs of the process. Those that are over are kept for reloads, then evicted. Thread-safe."""

    def __init__(self, keep: int = KEPT) -> None:
        self._keep = keep
        self._jobs: dict[str, Job[object]] = {}
        self._lock = threading.Lock()

    def start(self, kind: str, label: str, work: JobFunction[E], *, workspace: str, who: str = "") -> Job[E]:
        """A new job, already running."""
        return self.begin(Job(kind, label, work, workspace, who=who))

    def begin(self, job: Job[E]) -> Job[E]:
        """Take in a job and start it: for work that speaks to its own job."""
        with self._lock:
            self._evict()
            self._jobs[job.id] = job  # type: ignore[assignment]
        job.start()
        return job

    def get(self, id: str, *, workspace: str) -> Job[object] | None:
        """The job of this id, if it is this workspace's."""
        with self._lock:
            found = self._jobs.get(id)
        return found if found is not None and found.workspace == workspace else None

    def drop(self, which: Callable[[Job[object]], bool]) -> None:
        """Keep those no longer: what they made is kept elsewhere, or was deleted."""
        with self._lock:
            self._jobs = {id: job for id, job in self._jobs.items() if not which(job)}

    def running(self, kind: str | None = None, *, workspace: str | None = None) -> list[Job[object]]:
        """Those under way, oldest first; None stands for every kind, every workspace."""
        with self._lock:
            return [
                job
                for job in self._jobs.values()
                if job.running and kind in (None, job.kind) and workspace in (None, job.workspace)
            ]

    def _evict(self) -> None:
        now = time.monotonic()
        over = [(job.over_at, id) for id, job in self._jobs.items() if job.over_at is not None]
        old = [id for at, id in over if now - at > KEPT_SECONDS]
        surplus = [id for _, id in sorted(over)][: max(0, len(over) - self._keep)]
        for id in {*old, *surplus}:
            del self._jobs[id]


def explain_os_error(error: OSError) -> StorageError | None:
    """What the system ran out of, in words; None for any other trouble, which is a defect."""
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return StorageError(
            "The program has too many files open.",
            "Wait until others are done, then try again; your administrator can allow it more (ulimit -n).",
        )
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        return StorageError("The disk is full, or can't be written.", "Tell your administrator, then try again.")
    return None


def _explain(error: BaseException) -> CragError | None:
    return explain_os_error(error) if isinstance(error, OSError) else None


async def follow_run(
    run: Iterator[T], cancel: threading.Event, ended: Callable[[], None] = lambda: None
) -> AsyncGenerator[T, None]:
    """The items of `run` as they come; then what it raised, if it did.

    `run` works in a thread, in the context of the caller who asks for the first item. Anyone who stops listening sets
    `cancel`: the thread then takes the run to its own end, so that it is stored. `ended` is called in that thread,
    once, when nothing of the run works any more.
    """

    loop, items = asyncio.get_running_loop(), asyncio.Queue[Any]()

    def put(item: object) -> None:
        try:
            loop.call_soon_threadsafe(items.put_nowait, item)
        except RuntimeError:  # the loop is closed: nobody listens any more
            cancel.set()

    def work(_: threading.Event, emit: Callable[[T], None]) -> None:
        error: BaseException | None = None
        try:
            for item in run:
                put(item)
        except BaseException as raised:  # noqa: BLE001
            # Not raised here: the job would clear frames of it that the loop works in by then.
            error = raised
            if not isinstance(raised, CragError):
                _log.exception("A run stopped on a defect")
        finally:
            ended()
            put(_End(error))

    Job("run", "", work, cancel=cancel).start(daemon=False)
    try:
        while not isinstance(item := await items.get(), _End):
            yield item
    except BaseException:
        cancel.set()
        raise
    if item.error is not None:
        raise item.error


@dataclass(frozen=True, slots=True)
class _End:
    """Nothing more comes of a run; what it raised, if it did."""

    error: BaseException | None


Report = Callable[[int], Awaitable[None]]
"""Takes the number of requests that wait before this one."""


async def _no_report(waiting: int) -> None:
    """For callers that hear nothing while they wait."""


class WorkQueue:
    """At most `at_once` pieces of work, each in a thread; the others wait in turns. Belongs to one event loop.

    A turn lasts as long as the thread works, so a client that sends or reads slowly holds none. Where there are several
    callers, none has all turns, and none all places to wait.
    """

    def __init__(self, at_once: int, waiting: int, callers: int = 1) -> None:
        self._at_once, self._turns, self._waiting = at_once, FairQueue(at_once), Shares(waiting, callers)
        self._each = max(1, at_once - 1) if callers > 1 else at_once
        self._under_way: set[threading.Event] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self.closing = False
        """Whether no more work is taken."""

    def working(self, cancel: threading.Event) -> bool:
        """Whether a thread works that heeds this event."""
        return cancel in self._under_way

    async def follow(
        self, run: Iterator[T], cancel: threading.Event, *, caller: int = 0, report: Report = _no_report
    ) -> AsyncGenerator[T, None]:
        """The items of `run` as they come. It works in a thread and heeds `cancel`.

        Anyone who stops listening sets that event. `report` gets the number of those that wait before it. Raises
        RefusedError where too much of the caller waits, CancelledError once the server stops, and what `run` raises.
        """
        turn = await self._turn(caller, report)
        self._under_way.add(cancel)
        self._idle.clear()
        loop = asyncio.get_running_loop()

        def ended() -> None:
            try:
                loop.call_soon_threadsafe(self._left, turn, cancel)
            except RuntimeError:
                _log.warning("work ended after the server had")

        async with aclosing(follow_run(run, cancel, ended)) as items:
            async for item in items:
                yield item

    async def done(
        self, call: Callable[[], T], cancel: threading.Event, *, caller: int = 0, report: Report = _no_report
    ) -> T:
        """What `call` returns, which works in a thread. Raises as `follow` does."""

        def once() -> Iterator[T]:
            yield call()

        async with aclosing(self.follow(once(), cancel, caller=caller, report=report)) as items:
            [returned] = [item async for item in items]
            return returned

    def close(self) -> None:
        """Take no more work. What waits for its turn is refused when that comes."""
        self.closing = True

    def stop(self) -> int:
        """Take no more work, and end what is under way: how many pieces. Callable from a signal handler."""
        self.close()
        under_way = list(self._under_way)
        for cancel in under_way:
            cancel.set()
        return len(under_way)

    async def ended(self, within: float | None = None) -> None:
        """Waits until nothing is under way any more, for at most `seconds`."""
        try:
            await asyncio.wait_for(self._idle.wait(), within)
        except TimeoutError:
            _log.warning("%d runs had not ended %s seconds after the server", len(self._under_way), within)

    async def _turn(self, caller: int, report: Report) -> QueueTicket:
        if not self._waiting.take(caller):
            said = f"{self._waiting.held(caller)} requests wait here already."
            raise RefusedError(503, "busy", said, "Ask again in a moment, and fewer at once.", {"Retry-After": "2"})
        try:
            running, waiting = self._turns.counts
            if running >= self._at_once:
                await report(waiting)  # a client may read this slowly
            came = asyncio.Event()
            turn = self._turns.join(str(caller), self._each, came.set)
            try:
                await came.wait()
                if self.closing:
                    raise CancelledError("The server is about to end.", "Ask again when it runs.")
            except BaseException:
                turn.leave()
                raise
        finally:
            self._waiting.give_back(caller)
        return turn

    def _left(self, turn: QueueTicket, cancel: threading.Event) -> None:
        self._under_way.discard(cancel)
        turn.leave()
        if not self._under_way:
            self._idle.set()
