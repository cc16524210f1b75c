"""Steps of training data in an order that depends on the seed alone, made beside the training where there are cores.

An epoch is drawn, shuffled and cut into pools; a pool's samples are sorted by length, dealt into steps and those
shuffled. Every one of these has dice of its own, so that a run can be taken up at any `Place`, with other workers.
"""

from __future__ import annotations

import multiprocessing
import pickle
import random
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, ParamSpec, Protocol, TypeVar

from corpora.pair import Pair, held_out
from training.samples import Batch, Reader, batched, dealt

AHEAD = 2
"""Epochs that are drawn at the same time, and pools that each worker has waiting."""
LARGEST_POOL = 4096
"""Pairs; a worker prepares them in a few seconds."""
P, R = ParamSpec("P"), TypeVar("R")


class Epochs(Protocol):
    """What pairs are drawn from; it travels to the workers before its first epoch."""

    def epoch(self, seed: int) -> list[Pair]: ...


class Place(NamedTuple):
    """The next step: of which epoch, pool and batch."""

    epoch: int = 0
    pool: int = 0
    batch: int = 0


@dataclass
class _Later(Generic[R]):
    """What a future is where there are no workers: done when it is asked for."""

    made: Callable[[], R]

    def result(self) -> R:
        return self.made()


class _Here:
    def submit(self, do: Callable[P, R], /, *given: P.args, **named: P.kwargs) -> _Later[R]:
        return _Later(lambda: do(*given, **named))

    def shutdown(self, **_: object) -> None:
        """Nothing runs."""


class Feed:
    """Batches of about `tokens` tokens. With `workers` 0 everything is done here, in turn.

    `start`: how the workers start. "fork" spares each of them the import of torch, and is safe before a GPU is used.
    """

    def __init__(
        self,
        epochs: Epochs,
        seed: int,
        tokens: int,
        workers: int = 0,
        reader: type[Reader] = Reader,
        start: Literal["spawn", "fork"] = "spawn",
    ) -> None:
        self.seed, self.tokens, self.workers, self.reader = seed, tokens, workers, reader
        self._drawing: Executor | _Here = _Here()
        self._dealing: Executor | _Here = _Here()
        if workers:
            context = multiprocessing.get_context(start)
            self._drawing = ProcessPoolExecutor(AHEAD, context, initializer=_begin, initargs=(epochs,))
            self._dealing = ProcessPoolExecutor(workers, context)
            for executor in (self._drawing, self._dealing):
                executor.submit(int)  # they start now
        else:
            _begin(epochs)

    def checks(self) -> dict[str, list[Pair]]:
        """Pairs that are never trained on, by what they tell."""
        found: dict[str, list[Pair]] = self._drawing.submit(_checks).result()
        return found

    def batches(self, at: Place) -> Iterator[tuple[Place, Batch]]:
        """All steps from a place on, without end, each with the place after it."""
        epochs: deque[Any] = deque()
        number, pool, skipped = at
        while True:
            while len(epochs) < (AHEAD if self.workers else 1):
                epochs.append(
                    self._drawing.submit(_drawn, self.seed, number + len(epochs), min(self.tokens // 2, LARGEST_POOL))
                )
            yield from self._epoch(number, epochs.popleft().result(), pool, skipped)
            number, pool, skipped = number + 1, 0, 0

    def _epoch(self, epoch: int, pools: list[bytes], first: int, skipped: int) -> Iterator[tuple[Place, Batch]]:
        waiting: deque[Any] = deque()
        left = iter(range(first, len(pools)))
        for pool in range(first, len(pools)):
            while len(waiting) < max(1, AHEAD * self.workers) and (ahead := next(left, None)) is not None:
                dice = f"{self.seed} {epoch} {ahead}"
                waiting.append(self._dealing.submit(_dealt, pools[ahead], dice, self.tokens, self.reader))
            for number, batch in enumerate(waiting.popleft().result()):
                if pool > first or number >= skipped:
                    yield Place(epoch, pool, number + 1), batch

    def close(self) -> None:
        """Ends the workers."""
        for workers in (self._drawing, self._dealing):
            workers.shutdown(wait=False, cancel_futures=True)


_held: dict[str, Any] = {}
"""What a process needs for every call, made once in each."""


def _begin(epochs: Epochs) -> None:
    _held["epochs"] = epochs


def _checks() -> dict[str, list[Pair]]:
    from corpora.sources.checks import checks  # its tables need the product's readers, which a lent machine is without

    epochs = _held["epochs"]
    if hasattr(epochs, "checks"):
        found: dict[str, list[Pair]] = epochs.checks()
        return found
    return checks(epochs.parts[0][0] if hasattr(epochs, "parts") else epochs)


def _drawn(seed: int, epoch: int, size: int) -> list[bytes]:
    """An epoch's pools of `size` pairs, packed: they pass through the training process unread."""
    pairs = [pair for pair in _held["epochs"].epoch(seed + epoch) if not held_out(pair.group)]
    random.Random(f"{seed} {epoch}").shuffle(pairs)
    return [pickle.dumps(pairs[at : at + size]) for at in range(0, len(pairs), size)]


def _dealt(pool: bytes, dice: str, tokens: int, reader: type[Reader]) -> list[Batch]:
    if type(_held.get("reader")) is not reader:
        _held["reader"] = reader()
    samples = sorted(_held["reader"].read(pickle.loads(pool)), key=lambda sample: len(sample.ids))
    batches = [batched(samples) for samples in dealt(samples, tokens)]
    random.Random(dice).shuffle(batches)
    return batches
