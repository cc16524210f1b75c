"""A queue: never more at once than may be, first come first served, places told, nobody forgotten."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from crag.core.errors import CancelledError
from crag.runtime.fair_queue import FairQueue, QueueTicket

NEVER = threading.Event()


def test_never_more_at_once_than_may_be_and_all_get_their_turn() -> None:
    turns, lock, inside, most = FairQueue(3), threading.Lock(), [0], [0]

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
    turns = FairQueue(1)
    first, second, third = turns.join(), turns.join(), turns.join()
    assert list(first.wait(NEVER)) == []
    behind, last = second.wait(NEVER), third.wait(NEVER)
    assert (next(behind), next(last)) == (1, 2)
    first.leave()
    assert next(last) == 1 and next(behind, None) is None
    second.leave()
    assert next(last, None) is None


def test_stop_ends_the_waiting_and_frees_the_place() -> None:
    turns, stop = FairQueue(1), threading.Event()
    first = turns.join()
    stop.set()
    with pytest.raises(CancelledError), turns.taken(stop):
        pytest.fail("its turn had not come")
    first.leave()
    with turns.taken(NEVER):
        pass


def test_who_lends_its_turn_is_the_next_of_those_who_wait() -> None:
    turns = FairQueue(1)
    mine, other, late = turns.join(), turns.join(), turns.join()
    with mine.released(NEVER):
        assert list(other.wait(NEVER)) == []
        other.leave()
        assert list(late.wait(NEVER)) == []
        late.leave()
    assert next(turns.join().wait(NEVER)) == 1, "it has its turn again"


def test_a_failure_inside_ends_the_turn() -> None:
    turns = FairQueue(1)
    with pytest.raises(KeyError), turns.taken(NEVER):
        raise KeyError
    with turns.taken(NEVER):
        pass


def ended(turns: list[QueueTicket]) -> list[str]:
    """The parties in the order in which they have their turn, each ending as soon as it has it."""
    order, left = [], list(turns)
    while left:
        turn = next(each for each in left if next(each.wait(NEVER), 0) == 0)
        order.append(turn.tenant)
        left.remove(turn)
        turn.leave()
    return order


def test_parties_that_wait_alike_take_turns() -> None:
    turns = FairQueue(1)
    assert "".join(ended([turns.join(tenant) for tenant in "aaaabbbbcc"])) == "abcabcabab"


def test_a_party_at_its_own_limit_lets_others_by_and_sees_its_place() -> None:
    turns = FairQueue(3)
    first = [turns.join("a", each=2) for _ in range(4)]
    assert [next(each.wait(NEVER), 0) for each in first] == [0, 0, 1, 2], "the third place stays free"
    late = turns.join("b", each=2)
    assert next(late.wait(NEVER), 0) == 0
    late.leave()
    assert next(first[2].wait(NEVER)) == 1, "not its own party's place"
    first[0].leave()
    assert [next(each.wait(NEVER), 0) for each in first[1:]] == [0, 0, 1]


def test_places_foreseen_are_those_that_come_true() -> None:
    rng = random.Random(7)
    for most in (1, 2, 3):
        turns = FairQueue(most)
        here = [turns.join(rng.choice("abcd"), each=rng.choice((0, 1, 2))) for _ in range(30)]
        inside = [each for each in here if next(each.wait(NEVER), 0) == 0]
        said = {each: next(each.wait(NEVER)) for each in here if each not in inside}
        came: dict[QueueTicket, int] = {}
        for count in range(1, 31):
            inside.pop(0).leave()
            new = [each for each in said if each not in came and next(each.wait(NEVER), 0) == 0]
            came.update(dict.fromkeys(new, count))
            inside += sorted(new, key=lambda each: turns._line.running.index(each))
            if not inside:
                break
        assert came == said
