"""Work that outlives the script: a job runs in its own thread, pages attach to it and follow its events."""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401 - first, so that what it does at the end comes after what is done here
import logging
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from crag.core.errors import CragError
from ui.kit.problems import of_system

E = TypeVar("E")
Work = Callable[[threading.Event, Callable[[E], None]], None]
"""What a job does: it is given the event that asks it to stop, and a function that takes its events."""

PATIENCE = 1800.0
"""Seconds a job waits for its person's word before silence counts as a no."""
KEPT, KEPT_SECONDS = 32, 3600.0
"""How many jobs that are over are kept, and for how long at most."""

_log = logging.getLogger(__name__)


class Job(Generic[E]):
    """One run or one upload under way: its events so far, whether it is over, and how to stop it.

    `label` is what a person calls the work. Only who is in its `workspace` finds it. `who`: the id of the person who
    began it, "" without sign-in.
    """

    def __init__(
        self, kind: str, label: str, work: Work[E], workspace: str, *, who: str = "", patience: float = PATIENCE
    ) -> None:
        """`patience`: how many seconds `ask` waits. Not running yet: see `Jobs.begin`."""
        self.id = secrets.token_urlsafe(12)
        self.kind, self.label, self.workspace, self.who = kind, label, workspace, who
        self.problem: CragError | None = None
        self.over_at: float | None = None
        self._work_of: Work[E] | None = work
        self._events: list[E] = []
        self._changed = threading.Condition()
        self._cancel = threading.Event()
        self._patience = patience
        self._asked = 0
        self._answers: dict[int, bool] = {}

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
        """The person's answer: waits for it, in the thread that does the work, whose events say what is asked.

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

    def start(self) -> None:
        _started.add(self)
        threading.Thread(target=self._work, name=f"{self.kind}-job", daemon=True).start()

    def events(self) -> list[E]:
        """What has happened so far."""
        with self._changed:
            return list(self._events)

    def follow(self, beat: float = 0.25) -> Iterator[list[E]]:
        """The new events, at once as they come and at least every `beat` seconds (then maybe none), until it is over.

        The last item is yielded after the job ended, so whoever draws every item has drawn the end.
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
        """The first event, as soon as there is one; None if the job ends without any, or within so many seconds."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._events) or not self.running, seconds)
            return self._events[0] if self._events else None

    def _record(self, event: E) -> None:
        with self._changed:
            self._events.append(event)
            self._changed.notify_all()

    def _work(self) -> None:
        work, self._work_of = self._work_of, None  # what it works on is let go with it, though the job is kept
        try:
            if work is not None:
                work(self._cancel, self._record)
        except CragError as error:
            self.problem = error
        except Exception as error:  # noqa: BLE001
            # The thread's last line of defence: a defect must reach the person in words, and the log in full.
            self.problem = of_system(error) if isinstance(error, OSError) else None
            if self.problem is None:
                _log.exception("The %s job stopped on a defect", self.kind)
                self.problem = CragError(
                    f"The work stopped on a defect of this program ({type(error).__name__}).",
                    "Try again; the log of the server holds the details for a report.",
                )
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
    """All jobs of the process, whoever started them. Over ones are kept for reloads, then evicted."""

    def __init__(self, keep: int = KEPT) -> None:
        self._keep = keep
        self._jobs: dict[str, Job[object]] = {}
        self._lock = threading.Lock()

    def start(self, kind: str, label: str, work: Work[E], *, workspace: str, who: str = "") -> Job[E]:
        """A new job, already running."""
        return self.begin(Job(kind, label, work, workspace, who=who))

    def begin(self, job: Job[E]) -> Job[E]:
        """Take in a job and let it run: for work that speaks to its own job."""
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

    def rename(self, job: Job[E], id: str) -> None:
        """Let the job be found under the id of the run it turned out to make."""
        with self._lock:
            self._jobs[id] = self._jobs.pop(job.id)
            job.id = id

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
