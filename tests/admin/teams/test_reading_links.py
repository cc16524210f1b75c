"""Links to read: what opens them, until when, and that what is stored opens nothing."""

import re

import pytest
from sqlalchemy import select, update

from crag.admin.links import LONGEST, MOST, Links
from crag.admin.roles import Actor
from crag.admin.store import links as table
from crag.core.errors import AccessError, InputError

KEY = Actor(name="visitor", holds="p-" + "1" * 40)


def refusal(links, token):
    with pytest.raises(AccessError) as refused:
        links.opened(token)
    return str(refused.value)


def test_a_link_lets_in_until_it_ends_and_is_stored_as_a_hash_alone(links, store):
    link, token = links.issue(KEY.holds, 7, KEY)
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", token)
    assert links.opened(token) == link and link.workspace == KEY.holds
    with store.read() as connection:
        rows = [str(row) for row in connection.execute(select(table))]
    assert rows and token not in rows[0] and token[:12] not in rows[0]
    never, unlike = refusal(links, "A" * 43), refusal(links, "' OR 1=1 --")
    links.end(link.id, KEY)
    assert refusal(links, token) == never == unlike
    assert links.of(KEY.holds) == []
    _, late = links.issue(KEY.holds, 1, KEY)
    with store.write() as connection:
        connection.execute(update(table).values(ends_at="2020-01-01T00:00:00+00:00"))
    assert refusal(links, late) == never and links.of(KEY.holds) == []


def test_whose_key_it_is_not_makes_and_ends_no_link(links):
    link, token = links.issue(KEY.holds, 7, KEY)
    other = Actor(name="visitor", holds="p-" + "2" * 40)
    for each in (lambda: links.issue(KEY.holds, 7, other), lambda: links.end(link.id, other)):
        with pytest.raises(AccessError):
            each()
    assert links.opened(token).id == link.id


def test_it_ends_with_the_person_who_made_it(links, spaces, person, actor, people):
    anna = person("anna")
    space = spaces.own(anna)
    _, token = links.issue(space.name, 7, actor(anna))
    assert links.opened(token).made_by == "Anna"
    person("cleo", "admin")
    people.remove(anna.id, by="owner")
    refusal(links, token)


@pytest.mark.parametrize("days", [0, -1, LONGEST + 1])
def test_no_link_lets_in_for_ever(links, days):
    with pytest.raises(InputError):
        links.issue(KEY.holds, days, KEY)


def test_a_workspace_has_a_bound_of_links(links):
    for _ in range(MOST):
        links.issue(KEY.holds, 1, KEY)
    with pytest.raises(InputError):
        links.issue(KEY.holds, 1, KEY)


def test_made_up_links_shut_out_no_valid_one_and_do_not_fill_the_log(links, audit):
    _, token = links.issue(KEY.holds, 7, KEY)
    for number in range(300):
        refusal(links, f"{number:043d}")
    assert links.opened(token), "it was not used before"
    assert len(list(audit.entries(act="link", who="visitor"))) < 100, "of 300"


def test_a_link_that_was_ended_by_another_process_lets_nobody_in(links, store, audit):
    link, token = links.issue(KEY.holds, 7, KEY)
    links.opened(token)
    Links(store, audit).end(link.id, KEY)
    refusal(links, token)
