"""Places for tabs: in all and of one browser; who had one comes back, and a page loaded anew finds its own."""

from contextlib import ExitStack

import pytest

from ui.access.browser import COOKIE
from ui.server.connection_limit import Caller, Most, Seats, caller

ANNA, BEN, NOBODY = Caller(browser="anna"), Caller(browser="ben"), Caller(browser="")
HALL = Most(all=3, own=2)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def seats(clock: Clock) -> Seats:
    return Seats(lambda: HALL, lambda session: session.startswith("alive"), clock)


def test_there_are_so_many_in_all_and_so_many_of_one_browser(seats: Seats) -> None:
    with ExitStack() as open_tabs:
        for _ in range(2):
            assert seats.full(ANNA, HALL) is None
            open_tabs.enter_context(seats.taken(ANNA))
        told = seats.full(ANNA, HALL)
        assert told is not None and (told.open, told.most, told.own) == (2, 2, True)
        assert seats.full(BEN, HALL) is None and seats.full(NOBODY, HALL) is None
        open_tabs.enter_context(seats.taken(NOBODY))
        told = seats.full(BEN, HALL)
        assert told is not None and (told.open, told.most, told.own, told.again) == (3, 3, False, 10)
        assert seats.full(BEN, Most(all=0, own=0)) is None, "0 is no limit"
        assert seats.open == 3
    assert seats.open == 0


def test_a_session_comes_back_however_full_it_is_but_not_with_a_crowd(seats: Seats) -> None:
    with ExitStack() as open_tabs:
        for _ in range(3):
            open_tabs.enter_context(seats.taken(NOBODY))
        mine = Caller(browser="", session="alive-1")
        assert seats.full(Caller(browser="", session="gone"), HALL) is not None
        for _ in range(3):
            assert seats.full(mine, HALL) is None
            open_tabs.enter_context(seats.taken(mine))
        assert seats.full(mine, HALL) is not None, "sockets of one session are no way round the limit"
        assert seats.full(Caller(browser="", session="alive-2"), HALL) is None


def test_the_place_of_a_page_that_is_loaded_anew_is_kept_for_it_for_a_moment(seats: Seats, clock: Clock) -> None:
    hall = Most(all=2, own=0)
    with seats.taken(BEN):
        with seats.taken(ANNA):
            told = seats.full(ANNA, hall)  # the page is asked for before the old one is closed
            assert told is not None and told.again == 2
        assert seats.full(NOBODY, hall) is not None, "it is Anna's"
        assert seats.full(ANNA, hall) is None
        with seats.taken(ANNA):
            assert seats.full(NOBODY, hall) is not None
            clock.now += 11
        assert seats.full(NOBODY, hall) is None, "she closed it and asked for no other"
        with seats.taken(ANNA):
            assert seats.full(ANNA, hall) is not None
        assert seats.full(NOBODY, hall) is not None
        clock.now += 11
        assert seats.full(NOBODY, hall) is None, "she did not come back"


def test_a_browser_is_known_by_its_cookie_and_a_tab_that_comes_back_names_its_session() -> None:
    cookie, protocols = f"other=1; {COOKIE}={'A' * 32}".encode(), b"streamlit, token , session-1"
    found = caller({"headers": [(b"cookie", cookie), (b"sec-websocket-protocol", protocols)]})
    assert found == Caller(browser="A" * 32, session="session-1")
    for odd in (b"", b"crag_browser=zz", b"crag_browser=", b"=;;", b"\xff"):
        assert caller({"headers": [(b"cookie", odd)]}) == Caller(browser="")
