"""Work that takes turns: so much of it at once, and the rest in the order in which it came."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from crag.core.errors import CancelledError

__all__ = ["Turn", "Turns"]

_BEAT = 0.25
"""Seconds between two looks at whether Stop was pressed."""


class Turns:
    """A queue for whatever may be done `most` times at once. Thread-safe."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._line: list[Turn] = []
        """Those whose turn it is, and behind them those who wait, first come first."""
        self._changed = threading.Condition()

    def allow(self, most: int) -> None:
        """From now on so many at once. Of more that have their turn already, none loses it."""
        with self._changed:
            self._most = most
            self._changed.notify_all()

    def join(self) -> Turn:
        """A place at the end of the queue, to be left in the end, whether its turn came or not."""
        turn = Turn(self)
        with self._changed:
            self._line.append(turn)
        return turn

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

    def _before(self, turn: Turn) -> int:
        """How many must end before this one's turn; 0: it is now."""
        return max(0, self._line.index(turn) + 1 - self._most)


class Turn:
    """One place in a queue."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns

    def wait(self, cancel: threading.Event) -> Iterator[int]:
        """How many are before this one, at once and at each change, until its turn has come; nothing if it has.

        Raises CancelledError where Stop is pressed meanwhile.
        """
        turns, said = self._turns, 0
        while True:
            with turns._changed:
                before = turns._before(self)
                if before and before == said:
                    turns._changed.wait(_BEAT)
                    before = turns._before(self)
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
        turns = self._turns
        self.leave()
        try:
            yield
        finally:
            with turns._changed:
                turns._line.insert(turns._most, self)
        for _ in self.wait(cancel):
            pass

    def leave(self) -> None:
        """Its turn is over, or it waits no more. Leaving twice does nothing."""
        turns = self._turns
        with turns._changed:
            if self in turns._line:
                turns._line.remove(self)
                turns._changed.notify_all()
