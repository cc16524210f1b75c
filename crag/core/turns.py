"""Work that takes turns: so much of it at once, and the rest in the order in which it came."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from crag.core.errors import CancelledError

__all__ = ["Turn", "Turns"]

_BEAT = 0.25
"""Seconds between two looks at whether Stop was pressed."""


@dataclass(eq=False, slots=True)
class _Line:
    """Those whose turn it is, the first `most`, and behind them those who wait, first come first."""

    most: int
    turns: list[Turn] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)


class Turns:
    """A queue for whatever may be done `most` times at once. Thread-safe."""

    def __init__(self, most: int) -> None:
        self._line = _Line(most)

    def allow(self, most: int) -> None:
        """From now on so many at once. Of more that have their turn already, none loses it."""
        with self._line.changed:
            self._line.most = most
            self._line.changed.notify_all()

    @property
    def counts(self) -> tuple[int, int]:
        """How many have their turn, and how many wait for it."""
        with self._line.changed:
            there, most = len(self._line.turns), self._line.most
        return min(there, most), max(0, there - most)

    def join(self) -> Turn:
        """A place at the end of the queue, to be left in the end, whether its turn came or not."""
        return Turn(self._line)

    @contextmanager
    def taken(self, cancel: threading.Event, told: Callable[[int], None] = lambda before: None) -> Iterator[None]:
        """Waits for a turn, which lasts as long as the block. `told` hears how many are before it, at each change.

        Raises CancelledError where Stop is pressed meanwhile.
        """
        turn = self.join()
        try:
            for before in turn.wait(cancel):
                told(before)
            yield
        finally:
            turn.leave()


class Turn:
    """One place in a queue."""

    def __init__(self, line: _Line) -> None:
        self._line = line
        with line.changed:
            line.turns.append(self)

    def wait(self, cancel: threading.Event) -> Iterator[int]:
        """How many are before this one, at once and at each change, until its turn has come; nothing if it has.

        Raises CancelledError where Stop is pressed meanwhile.
        """
        said = 0
        while True:
            with self._line.changed:
                before = self._before()
                if before and before == said:
                    self._line.changed.wait(_BEAT)
                    before = self._before()
            if not before:
                return
            if cancel.is_set():
                raise CancelledError("It was stopped before its turn came.")
            if before != said:
                said = before
                yield before

    @contextmanager
    def lent(self, cancel: threading.Event) -> Iterator[None]:
        """Others have this turn as long as the block lasts; then this one is the next of those who wait, and waits.

        Raises CancelledError as `wait` does.
        """
        self.leave()
        try:
            yield
        finally:
            with self._line.changed:
                self._line.turns.insert(self._line.most, self)
        for _ in self.wait(cancel):
            pass

    def leave(self) -> None:
        """Its turn is over, or it waits no more. Leaving twice does nothing."""
        with self._line.changed:
            if self in self._line.turns:
                self._line.turns.remove(self)
                self._line.changed.notify_all()

    def _before(self) -> int:
        """How many must end before this one's turn; 0: it is now."""
        return max(0, self._line.turns.index(self) + 1 - self._line.most)
