"""A queue: never more at once than may be, first come first served, places told, nobody forgotten."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from crag.core.errors import CancelledError
from crag.core.turns import Turns

NEVER = threading.Event()


def test_never_more_at_once_than_may_be_and_all_get_their_turn() -> None:
    turns, lock, inside, most = Turns(3), threading.Lock(), [0], [0]

    def work(number: int) -> int:
        with turns.taken(NEVER):
            with lock:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
            threading.Event().wait(0.001)
            with lock:
                inside[0] -= 1
        return number

    with ThreadPoolExecutor(16) as pool:
        assert sorted(pool.map(work, range(100))) == list(range(100))
    assert most[0] == 3 and inside[0] == 0


def test_places_are_told_and_go_down_in_the_order_of_arrival() -> None:
    turns = Turns(1)
    first, second, third = turns.join(), turns.join(), turns.join()
    assert list(first.wait(NEVER)) == []
    behind, last = second.wait(NEVER), third.wait(NEVER)
    assert (next(behind), next(last)) == (1, 2)
    first.leave()
    assert next(last) == 1 and next(behind, None) is None
    second.leave()
    assert next(last, None) is None


def test_stop_ends_the_waiting_and_frees_the_place() -> None:
    turns, stop = Turns(1), threading.Event()
    first = turns.join()
    stop.set()
    with pytest.raises(CancelledError), turns.taken(stop):
        pytest.fail("its turn had not come")
    first.leave()
    with turns.taken(NEVER):
        pass


def test_who_lends_its_turn_is_the_next_of_those_who_wait() -> None:
    turns = Turns(1)
    mine, other, late = turns.join(), turns.join(), turns.join()
    with mine.lent(NEVER):
        assert list(other.wait(NEVER)) == []
        other.leave()
        assert list(late.wait(NEVER)) == []
        late.leave()
    assert next(turns.join().wait(NEVER)) == 1, "it has its turn again"


def test_a_failure_inside_ends_the_turn() -> None:
    turns = Turns(1)
    with pytest.raises(KeyError), turns.taken(NEVER):
        raise KeyError
    with turns.taken(NEVER):
        pass
