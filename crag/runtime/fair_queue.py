"""Work that takes turns: so much of it at once, the rest in order, and nobody who brings much keeps others out."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from crag.core.errors import CancelledError

_BEAT = 0.25
"""Seconds between two looks at whether Stop was pressed."""


@dataclass(eq=False, slots=True)
class _Line:
    """Those whose turn it is, in the order in which it came, and those who wait, in the order in which they did."""

    most: int
    running: list[QueueTicket] = field(default_factory=list)
    waiting: list[QueueTicket] = field(default_factory=list)
    served: dict[str, int] = field(default_factory=dict)
    """When each tenant was served last, as a count; of those that are here alone."""
    places: dict[QueueTicket, int] = field(default_factory=dict)
    """How many must end before the turn of each that waits."""
    changed: threading.Condition = field(default_factory=threading.Condition)

    def advance(self) -> None:
        """Lets in anyone who may come in, and works out the places of the others. Called with the lock held."""
        order = _Order(self.running, self.waiting, self.served)
        while len(self.running) < self.most and (turn := order.next(self.most)) is not None:
            self.waiting.remove(turn)
            self.running.append(turn)
            turn.came()
        here = {turn.tenant for turn in (*self.running, *self.waiting)}
        self.served = {tenant: at for tenant, at in order.served.items() if tenant in here}
        self.places = self._foreseen(order) if self.waiting else {}
        self.changed.notify_all()

    def _foreseen(self, order: _Order) -> dict[QueueTicket, int]:
        """Each that waits, by how many end before it comes in, if they end in the order in which they came in."""
        inside, found, ended = deque(self.running), dict[QueueTicket, int](), 0
        while inside and len(found) < len(self.waiting):
            order.end(inside.popleft())
            ended += 1
            while len(inside) < self.most and (turn := order.next(self.most)) is not None:
                inside.append(turn)
                found[turn] = ended
        return found


class _Order:
    """Who comes in next: of the tenants that wait, one with the fewest inside, and of these the one served longest ago.

    One that released its turn comes before all. A tenant with as many inside as it may have lets others by.
    """

    def __init__(
        self, running: Sequence[QueueTicket], waiting: Sequence[QueueTicket], served: Mapping[str, int]
    ) -> None:
        self._inside = Counter(turn.tenant for turn in running)
        self._heads: dict[str, deque[QueueTicket]] = {}
        for turn in waiting:
            self._heads.setdefault(turn.tenant, deque()).append(turn)
        self.served = dict(served)
        self._count = max(served.values(), default=0)

    def next(self, most: int) -> QueueTicket | None:
        """The next one, which is inside from now on; None where nobody who waits may come in."""
        free = [turns[0] for tenant, turns in self._heads.items() if self._inside[tenant] < (turns[0].each or most)]
        if not free:
            return None
        turn = min(
            free, key=lambda each: (not each.was_released, self._inside[each.tenant], self.served.get(each.tenant, 0))
        )
        tenant, self._count = turn.tenant, self._count + 1
        self._heads[tenant].popleft()
        if not self._heads[tenant]:
            del self._heads[tenant]
        self._inside[tenant] += 1
        self.served[tenant] = self._count
        return turn

    def end(self, turn: QueueTicket) -> None:
        """It is inside no more."""
        self._inside[turn.tenant] -= 1


class FairQueue:
    """A queue for whatever may be done `most` times at once. Thread-safe."""

    def __init__(self, most: int) -> None:
        self._line = _Line(most)

    def allow(self, most: int) -> None:
        """From now on at most this number at once. Of more that have their turn already, none loses it."""
        with self._line.changed:
            if most != self._line.most:
                self._line.most = most
                self._line.advance()

    @property
    def counts(self) -> tuple[int, int]:
        """How many have their turn, and how many wait for it."""
        with self._line.changed:
            return len(self._line.running), len(self._line.waiting)

    def join(self, tenant: str = "", each: int = 0, came: Callable[[], None] = lambda: None) -> QueueTicket:
        """A place in the queue, to be left in the end, whether its turn came or not.

        Within a tenant it is first come, first served; between tenants the one with the fewest inside. `each`:
        how many of the tenant at once; 0: as many as of all. `came` is called when the turn comes, in the thread of
        the one who left; it must not block.
        """
        return QueueTicket(self._line, tenant, each, came)

    @contextmanager
    def taken(self, cancel: threading.Event, report: Callable[[int], None] = lambda before: None) -> Iterator[None]:
        """Waits for a turn, which lasts as long as the block. `report` hears how many are before it, at each change.

        Raises CancelledError where Stop is pressed meanwhile.
        """
        turn = self.join()
        try:
            for before in turn.wait(cancel):
                report(before)
            yield
        finally:
            turn.leave()


class QueueTicket:
    """One place in a queue."""

    def __init__(self, line: _Line, tenant: str, each: int, came: Callable[[], None]) -> None:
        self._line, self.tenant, self.each, self.came = line, tenant, each, came
        self.was_released = False
        """Whether it had its turn before and released it."""
        with line.changed:
            line.waiting.append(self)
            line.advance()

    def wait(self, cancel: threading.Event) -> Iterator[int]:
        """How many are before this one, at once and at each change, until its turn has come; nothing if it has.

        Raises CancelledError where Stop is pressed meanwhile.
        """
        said = 0
        while True:
            with self._line.changed:
                before = self.before
                if before and before == said:
                    self._line.changed.wait(_BEAT)
                    before = self.before
            if not before:
                return
            if cancel.is_set():
                raise CancelledError("It was stopped before its turn came.")
            if before != said:
                said = before
                yield before

    @contextmanager
    def released(self, cancel: threading.Event) -> Iterator[None]:
        """Others have this turn as long as the block lasts; then this one is the next of those who wait, and waits.

        Raises CancelledError as `wait` does.
        """
        self.leave()
        try:
            yield
        finally:
            with self._line.changed:
                self.was_released = True
                self._line.waiting.insert(0, self)
                self._line.advance()
        for _ in self.wait(cancel):
            pass

    def leave(self) -> None:
        """Its turn is over, or it waits no more. Leaving twice does nothing."""
        line = self._line
        with line.changed:
            for among in (line.running, line.waiting):
                if self in among:
                    among.remove(self)
                    line.advance()

    @property
    def before(self) -> int:
        """How many must end before this one's turn; 0: it is now."""
        return self._line.places.get(self, 0)
