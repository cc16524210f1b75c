"""Steps in the same order from any place and with any workers; pairs that are held out are in none."""

from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from corpora.pair import Pair, held_out
from training.feed import Feed, Place
from training.samples import Batch

START = Place()


@dataclass
class Numbers:
    """Stands in for the corpus: pairs whose texts are numbers, as many as wanted."""

    count: int = 300

    def epoch(self, seed: int) -> list[Pair]:
        return [
            Pair(
                "Which number?", f"{seed} " + f"{number} " * (number % 17 + 1), float(number % 2), f"g {number}", "all"
            )
            for number in range(self.count)
        ]


class Named(Numbers):
    def epoch(self, seed: int) -> list[Pair]:
        return [replace(pair, source="copied") for pair in super().epoch(seed)]


def content(batch: Batch) -> list[bytes]:
    return [np.ascontiguousarray(value).tobytes() for value in vars(batch).values()]


def first(feed: Feed, count: int, at: Place = START) -> list[tuple[Place, list[bytes]]]:
    try:
        return [(place, content(batch)) for place, batch in islice(feed.batches(at), count)]
    finally:
        feed.close()


def test_a_run_taken_up_anywhere_goes_on_with_the_same_steps() -> None:
    whole = first(Feed(Numbers(), 3, 128), 80)
    assert {place.epoch for place, _ in whole} >= {0, 1} and {place.pool for place, _ in whole} >= {0, 1}
    for at in (1, 7, 30, 79):
        assert first(Feed(Numbers(), 3, 128), len(whole) - at, whole[at - 1][0]) == whole[at:]


def test_an_epoch_is_read_once_and_without_what_is_held_out() -> None:
    pairs = Numbers().epoch(3)
    rows = 0
    feed = Feed(Numbers(), 3, 128)
    for place, batch in feed.batches(Place()):
        if place.epoch:
            break
        rows += len(batch)
    apart = [pair for pair in pairs if held_out(pair.group)]
    assert apart and rows == len(pairs) - len(apart)


def test_checks_are_of_what_is_held_out() -> None:
    found = Feed(Named(), 3, 128).checks()
    assert found["copied"] and all(held_out(pair.group) for pairs in found.values() for pair in pairs)
