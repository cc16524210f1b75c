"""Workspaces: who may enter which, as what, and who may change that."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from crag.admin.roles import Actor
from crag.admin.workspaces import own_name
from crag.core.errors import AccessError, CragError, InputError, NotFoundError

OWNER = Actor(name="owner", administers=True)


def names(spaces, person):
    return [each.workspace.name for each in spaces.of(person)]


def test_each_has_a_workspace_of_their_own_that_nobody_else_enters(spaces, person):
    anna, ben, cleo = person("anna"), person("ben", "viewer"), person("cleo", "admin")
    own = spaces.own(anna)
    assert own == spaces.own(anna) and own.name == own_name(anna.id) and own.title == "Anna's library" and own.personal
    assert names(spaces, anna) == [own.name] and names(spaces, ben) == [] and names(spaces, cleo) == [own.name]
    assert [spaces.role_in(each, own.name) for each in (anna, ben, cleo)] == ["editor", None, "admin"]
    assert spaces.role_in(cleo, "u-" + "0" * 40) is None


def test_a_membership_gives_no_more_than_the_person_may_and_of_several_the_best(spaces, person, actor):
    anna, ben = person("anna"), person("ben", "viewer", groups=("writers", "readers"))
    space = spaces.make("Harbour", actor(anna))
    spaces.share(space.name, "group", "readers", "reader", actor(anna))
    assert spaces.role_in(ben, space.name) == "reader"
    spaces.share(space.name, "group", "writers", "editor", actor(anna))
    assert spaces.role_in(ben, space.name) == "viewer" and names(spaces, ben) == [space.name]
    spaces.unshare(space.name, "group", "writers", actor(anna))
    spaces.unshare(space.name, "group", "readers", actor(anna))
    assert spaces.role_in(ben, space.name) is None
    with pytest.raises(InputError):
        spaces.share(space.name, "group", "readers", "admin", actor(anna))


def test_who_is_named_by_e_mail_has_it_when_they_come(spaces, person, actor, people):
    anna = person("anna")
    space = spaces.make("Harbour", actor(anna))
    spaces.share(space.name, "person", " Ben@Example.org ", "editor", actor(anna))
    assert [each.shown for each in spaces.members(space.name)] == ["ben@example.org"]
    ben = person("ben", "editor")
    assert spaces.role_in(ben, space.name) is None  # until they come, the e-mail alone is known
    spaces.own(ben)
    assert spaces.role_in(ben, space.name) == "editor"
    assert [each.who for each in spaces.members(space.name)] == [ben.id]
    spaces.share(space.name, "person", "ben@example.org", "viewer", actor(anna))
    assert [(each.who, each.role) for each in spaces.members(space.name)] == [(ben.id, "viewer")]
    for wrong in ("", "ben", "a b@c", "x" * 300 + "@y"):
        with pytest.raises(InputError):
            spaces.share(space.name, "person", wrong, "viewer", actor(anna))


def test_only_the_owner_and_who_administers_change_who_may_enter_and_it_is_noted(spaces, links, person, actor, audit):
    anna, ben = person("anna"), person("ben")
    space = spaces.make("Harbour", actor(anna))
    spaces.share(space.name, "person", ben.id, "editor", actor(anna))
    tries = (
        lambda: spaces.rename(space.name, "Mine", actor(ben)),
        lambda: spaces.share(space.name, "group", "all", "editor", actor(ben)),
        lambda: spaces.delete(space.name, actor(ben)),
        lambda: spaces.hand_over(space.name, ben.id, actor(ben)),
        lambda: spaces.adopt("default", "Mine", actor(ben)),
        lambda: links.issue(space.name, 7, actor(ben)),
        lambda: links.issue(space.name, 7, Actor(name="visitor", holds="p-" + "0" * 40)),
    )
    for each in tries:
        with pytest.raises(AccessError):
            each()
    assert spaces.get(space.name).title == "Harbour" and links.of(space.name) == []
    assert {each.act for each in audit.entries(who="ben@example.org")} == {"workspace", "share", "link"}
    assert all(each.refused for each in audit.entries(who="ben@example.org"))
    spaces.unshare(space.name, "person", ben.id, actor(ben))  # but anybody may leave
    spaces.hand_over(space.name, ben.id, OWNER)
    assert spaces.role_in(ben, space.name) == "editor" and spaces.role_in(anna, space.name) is None


def test_what_is_deleted_is_entered_by_nobody_and_its_links_let_nobody_in(spaces, links, person, actor):
    anna = person("anna")
    space = spaces.make("Harbour", actor(anna))
    spaces.share(space.name, "group", "all", "editor", actor(anna))
    _, token = links.issue(space.name, 7, actor(anna))
    spaces.delete(space.name, actor(anna))
    with pytest.raises(AccessError):
        links.opened(token)
    with pytest.raises(NotFoundError):
        spaces.get(space.name)
    assert names(spaces, person("ben", groups=("all",))) == []


def test_of_two_who_change_one_membership_at_once_the_second_is_told(spaces, person, actor, people):
    anna, ben = person("anna"), person("ben")
    space = spaces.make("Harbour", actor(anna))
    spaces.share(space.name, "person", ben.id, "reader", actor(anna))

    def change(role):
        try:
            spaces.share(space.name, "person", ben.id, role, actor(anna), was="reader")
        except CragError as error:
            return error.message
        return "done"

    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(change, ["viewer", "editor"]))
    assert sorted(said) == ["Somebody else has changed this meanwhile.", "done"]
    roles = {"done": None}
    roles.update(zip(said, ("viewer", "editor"), strict=True))
    assert [each.role for each in spaces.members(space.name)] == [roles["done"]]


@pytest.mark.parametrize("title", ["", "   ", "x" * 81, "\u202e"])
def test_a_title_is_a_line_that_people_can_read(spaces, title):
    with pytest.raises(InputError):
        spaces.make(title, OWNER)
    assert spaces.all() == []
    assert spaces.make("  one\n\ttwo\u202e ", OWNER).title == "one two"


def test_ten_tabs_at_once_make_one_workspace(spaces, person):
    anna = person("anna")
    with ThreadPoolExecutor(10) as pool:
        found = set(pool.map(lambda _: spaces.own(anna), range(10)))
    assert len(found) == 1 and len(spaces.all()) == 1
