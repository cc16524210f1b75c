"""Work that takes turns: so much of it at once, the rest in order, and nobody who brings much keeps others out."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from crag.core.errors import CancelledError

_BEAT = 0.25
"""Seconds between two looks at whether Stop was pressed."""


class FairQueue:
    """A queue for whatever may be done `most` times at once. Thread-safe."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._running: list[QueueTicket] = []
        """Those whose turn it is, in the order in which it came."""
        self._waiting: list[QueueTicket] = []
        self._served: dict[str, int] = {}
        """When each tenant was served last, as a count; of those that are here alone."""
        self._places: dict[QueueTicket, int] = {}
        """How many must end before the turn of each that waits."""
        self.changed = threading.Condition()

    def allow(self, most: int) -> None:
        """From now on at most this number at once. Of more that have their turn already, none loses it."""
        with self.changed:
            self._most = most
            self._advance()

    @property
    def counts(self) -> tuple[int, int]:
        """How many have their turn, and how many wait for it."""
        with self.changed:
            return len(self._running), len(self._waiting)

    def join(self, tenant: str = "", each: int = 0, came: Callable[[], None] = lambda: None) -> QueueTicket:
        """A place in the queue, to be left in the end, whether its turn came or not.

        Within a tenant it is first come, first served; between tenants the one with the fewest inside. `each`:
        how many of the tenant at once; 0: as many as of all. `came` is called when the turn comes, in the thread of
        the one who left; it must not block.
        """
        ticket = QueueTicket(self, tenant, each, came)
        self.put(ticket)
        return ticket

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

    def put(self, ticket: QueueTicket) -> None:
        """It waits from now on, before all others if it released its turn."""
        with self.changed:
            self._waiting.insert(0 if ticket.was_released else len(self._waiting), ticket)
            self._advance()

    def remove(self, ticket: QueueTicket) -> None:
        """It has no turn and waits for none any more."""
        with self.changed:
            for among in (self._running, self._waiting):
                if ticket in among:
                    among.remove(ticket)
                    self._advance()

    def before(self, ticket: QueueTicket) -> int:
        """How many must end before a turn comes; 0: it is now."""
        return self._places.get(ticket, 0)

    def _advance(self) -> None:
        """Lets in anyone who may come in, and works out the places of the others. Called with the lock held.

        Each that waits comes in after as many as end before, if they end in the order in which they came in.
        """
        for ticket in self._let_in(self._running, self._waiting, self._served):
            ticket.came()
        here = {ticket.tenant for ticket in (*self._running, *self._waiting)}
        self._served = {tenant: at for tenant, at in self._served.items() if tenant in here}
        running, waiting, served = [*self._running], [*self._waiting], {**self._served}
        places, ended = dict[QueueTicket, int](), 0
        while waiting and running:
            del running[0]
            ended += 1
            places |= dict.fromkeys(self._let_in(running, waiting, served), ended)
        self._places = places  # at once: `before` looks without the lock
        self.changed.notify_all()

    def _let_in(
        self, running: list[QueueTicket], waiting: list[QueueTicket], served: dict[str, int]
    ) -> list[QueueTicket]:
        """Those whose turn comes: of the tenants that wait one with the fewest inside, of these the one served longest
        ago.

        One that released its turn comes before all. A tenant with as many inside as it may have lets others by.
        """
        came: list[QueueTicket] = []
        inside = Counter(ticket.tenant for ticket in running)
        while len(running) < self._most:
            first: dict[str, QueueTicket] = {}
            for each in waiting:
                first.setdefault(each.tenant, each)
            free = [each for tenant, each in first.items() if inside[tenant] < (each.each or self._most)]
            if not free:
                break
            turn = min(free, key=lambda each: (not each.was_released, inside[each.tenant], served.get(each.tenant, 0)))
            waiting.remove(turn)
            running.append(turn)
            came.append(turn)
            inside[turn.tenant] += 1
            served[turn.tenant] = max(served.values(), default=0) + 1
        return came


class QueueTicket:
    """One place in a queue."""

    def __init__(self, queue: FairQueue, tenant: str, each: int, came: Callable[[], None]) -> None:
        self._queue, self.tenant, self.each, self.came = queue, tenant, each, came
        self.was_released = False
        """Whether it had its turn before and released it."""

    def wait(self, cancel: threading.Event) -> Iterator[int]:
        """How many are before this one, at once and at each change, until its turn has come; nothing if it has.

        Raises CancelledError where Stop is pressed meanwhile.
        """
        said = 0
        while True:
            with self._queue.changed:
                before = self.before
                if before and before == said:
                    self._queue.changed.wait(_BEAT)
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
            self.was_released = True
            self._queue.put(self)
        for _ in self.wait(cancel):
            pass

    def leave(self) -> None:
        """Its turn is over, or it waits no more. Leaving twice does nothing."""
        self._queue.remove(self)

    @property
    def before(self) -> int:
        """How many must end before this one's turn; 0: it is now."""
        return self._queue.before(self)
