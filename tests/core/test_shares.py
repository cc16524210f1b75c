"""What callers share: each has its part, and none the part of another."""

from __future__ import annotations

from crag.runtime.limits import Shares


def test_a_caller_may_use_what_others_leave_and_never_their_part() -> None:
    shares = Shares(10, callers=2)
    assert shares.take(1, 10) and not shares.take(1)
    assert shares.take(2, 5), "its own part is free, whatever the first one holds"
    assert not shares.take(2)
    shares.give_back(1, 10)
    assert shares.take(2, 5) and shares.held(2) == 10


def test_a_caller_has_a_limit_of_its_own_and_a_least_part() -> None:
    limited = Shares(10, callers=2, each=3)
    assert limited.take(1, 3) and not limited.take(1)
    many = Shares(10, callers=100, least=4)
    assert many.take(1, 10) and many.take(2, 4) and not many.take(2)


def test_what_is_borrowed_is_free_at_the_end() -> None:
    shares = Shares(10)
    with shares.borrow(1) as more:
        assert more(6) and more(4) and not more(1)
        assert shares.held(1) == 10
    assert shares.held(1) == 0 and shares.take(2, 10)
