"""A queue: never more at once than may be, first come first served, places told, nobody forgotten."""

import asyncio
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from crag.core.errors import CancelledError
from crag.runtime.fair_queue import FairQueue, QueueTicket
from crag.runtime.jobs import WorkQueue, follow_run
from crag.runtime.limits import Shares
from crag.runtime.slow_clients import RefusedError

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
            inside += sorted(new, key=lambda each: turns._running.index(each))
            if not inside:
                break
        assert came == said


# What callers share: each has its part, and none the part of another


def test_a_caller_may_use_what_others_leave_and_never_their_part() -> None:
    shares = Shares(10, callers=2)
    assert all(shares.take(1) for _ in range(10)) and not shares.take(1)
    assert all(shares.take(2) for _ in range(5)), "its own part is free, whatever the first one holds"
    assert not shares.take(2)
    for _ in range(10):
        shares.give_back(1)
    assert all(shares.take(2) for _ in range(5)) and shares.held(2) == 10


def test_a_caller_of_many_has_one_place_at_least() -> None:
    many = Shares(10, callers=100)
    assert all(many.take(1) for _ in range(10)) and many.take(2) and not many.take(2)


# The work of a server: turns between callers, and an end in good order


async def settle() -> None:
    """Every task has gone as far as it can without a thread."""
    for _ in range(5):
        await asyncio.sleep(0)


def test_one_caller_s_work_never_holds_all_turns_and_the_rest_waits_in_order() -> None:
    async def scenario() -> None:
        work, release, order = WorkQueue(2, 8, callers=2), threading.Event(), list[str]()

        def job(name: str) -> str:
            order.append(name)
            assert release.wait(30)
            return name

        def start_call(name: str, caller: int) -> asyncio.Task[str]:
            return asyncio.create_task(work.done(lambda: job(name), threading.Event(), caller=caller))

        mine = [start_call(f"mine {number}", 1) for number in range(4)]
        await settle()
        assert await asyncio.wait_for(work.done(lambda: "other", threading.Event(), caller=2), 30) == "other"
        assert order == ["mine 0"]
        release.set()
        assert await asyncio.gather(*mine) == ["mine 0", "mine 1", "mine 2", "mine 3"] == order
        await work.ended()

    asyncio.run(scenario())


def test_one_caller_s_requests_never_take_all_places_to_wait() -> None:
    async def scenario() -> None:
        work, release = WorkQueue(1, 4, callers=2), threading.Event()

        def start_call(caller: int) -> asyncio.Task[bool]:
            return asyncio.create_task(work.done(lambda: release.wait(30), threading.Event(), caller=caller))

        mine = [start_call(1) for _ in range(5)]
        await settle()
        with pytest.raises(RefusedError, match="4 requests wait here already"):
            await start_call(1)
        other = start_call(2)
        await settle()
        mine[1].cancel()  # its place to wait is free again
        await settle()
        release.set()
        assert await asyncio.gather(mine[0], *mine[2:], other) == [True] * 5

    asyncio.run(scenario())


def test_work_that_nobody_listens_to_leaves_its_turn_to_others() -> None:
    """A reader of a stream that stops in the middle: the thread goes on to the end by itself."""

    async def scenario() -> None:
        work, cancel = WorkQueue(1, 4), threading.Event()
        stream = work.follow(iter(range(1000)), cancel)
        assert await anext(stream) == 0
        assert await asyncio.wait_for(work.done(lambda: "next", threading.Event()), 30) == "next"
        assert not cancel.is_set()
        assert [item async for item in stream] == list(range(1, 1000))

    asyncio.run(scenario())


def test_what_waits_when_the_server_ends_is_refused_and_what_works_is_stopped() -> None:
    async def scenario() -> None:
        work, cancel = WorkQueue(1, 4), threading.Event()
        first = asyncio.create_task(work.done(lambda: cancel.wait(30), cancel))
        waiting = asyncio.create_task(work.done(lambda: pytest.fail("the server ends"), threading.Event()))
        await settle()
        assert work.working(cancel) and work.stop() == 1
        assert await first
        with pytest.raises(CancelledError, match="about to end"):
            await waiting
        with pytest.raises(CancelledError, match="about to end"):
            await work.done(lambda: None, threading.Event())
        await work.ended(30)

    asyncio.run(scenario())


@pytest.mark.anyio
async def test_what_each_run_raises_is_heard() -> None:
    for _ in range(300):
        with pytest.raises(ZeroDivisionError):
            assert [each async for each in follow_run(map((1).__truediv__, [0]), NEVER)]
