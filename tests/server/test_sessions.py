"""Sessions kept for a browser that may come back: not too many, not too long, each ended exactly once."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ui.server.sessions import KeptSessions, room_for


class Session:
    def __init__(self, id: str) -> None:
        self.id, self.ended = id, 0

    def shutdown(self) -> None:
        self.ended += 1


def kept(id: str) -> SimpleNamespace:
    return SimpleNamespace(session=Session(id))


@pytest.mark.parametrize(("files", "sessions"), [(64, 4), (200, 12), (256, 16), (1024, 64), (65536, 128)])
def test_as_many_are_kept_as_there_are_files_for(files: int, sessions: int) -> None:
    assert room_for(files) == sessions


def test_the_one_that_has_been_gone_longest_is_ended_first() -> None:
    store, made = KeptSessions(2, 60), [kept(id) for id in "abc"]
    for each in made:
        store.save(each)
    assert [each.session.ended for each in made] == [1, 0, 0]
    assert store.list() == made[1:] and store.get("a") is None and store.get("c") is made[2]


def test_one_that_was_taken_up_again_is_forgotten_and_not_ended() -> None:
    store, one = KeptSessions(2, 60), kept("a")
    store.save(one)
    store.delete("a")
    store.delete("a")
    store.save(kept("b"))
    assert one.session.ended == 0 and store.get("a") is None


def test_who_stays_away_too_long_is_ended() -> None:
    store, one = KeptSessions(2, 0), kept("a")
    store.save(one)
    assert store.get("a") is None and store.list() == [] and one.session.ended == 1
