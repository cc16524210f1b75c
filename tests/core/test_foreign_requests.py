"""Requests that are refused by their Host and Origin: each case of a name, a page and a place to listen."""

import pytest

from crag.runtime.origins import Foreign, Origins, is_loopback

HERE = "127.0.0.1:8501"
EVIL = "http://evil.example"


@pytest.mark.parametrize(
    "host",
    ["localhost:8501", "LOCALHOST", "127.0.0.1", "127.8.8.8:80", "[::1]:8501", "crag.localhost:8501", "localhost."],
)
def test_a_server_for_this_machine_answers_to_its_names(host) -> None:
    assert Origins().refuse([host], []) is None


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:8501", "localhost.evil.example", "127.0.0.1.evil.example", "notlocalhost"),
        *(
            "localhost@evil.example",
            "192.168.1.5",
            "8.8.8.8:80",
            "[2001:db8::1]",
            "localhost:8501/x",
            "::1",
            "localhost:x",
        ),
    ],
)
def test_a_server_for_this_machine_answers_to_no_other_name(host) -> None:
    """A name that a stranger's DNS turns to this machine is how a page of theirs would reach it."""
    assert Origins().refuse([host], []) is Foreign.HOST
    assert Origins(proxied=True).refuse([host], []) is None is Origins(local=False).refuse([host], [])


@pytest.mark.parametrize("host", ["app.example", "a.team.example:443", "APP.example"])
def test_a_host_that_its_owner_named_is_answered(host) -> None:
    named = Origins(hosts=("app.example", "*.team.example"))
    assert named.refuse([host], []) is None
    assert named.refuse(["team.example"], []) and named.refuse(["evilteam.example"], [])
    assert Origins(hosts=("*",)).refuse(["any.example"], []) is None


def test_whoever_names_no_host_is_no_browser() -> None:
    assert Origins().refuse([], []) is None


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize(
    "origin", [EVIL, "null", "", "http://", "https://127.0.0.1.evil.example", "http://[", "file://"]
)
def test_a_page_of_another_site_is_refused(local, origin) -> None:
    assert Origins(local=local, neighbours=True).refuse([HERE], [origin]) is Foreign.PAGE
    assert Origins(local=local, any_origin=True).refuse([HERE], [origin]) is None


def test_the_app_s_own_page_is_let_in_wherever_it_is_served() -> None:
    everywhere = Origins(local=False)
    assert everywhere.refuse(["Crag.example:8501"], ["http://crag.example:8501"]) is None
    assert everywhere.refuse(["crag.example:8501"], ["http://crag.example"])


@pytest.mark.parametrize("origin", ["http://localhost:3000", "http://127.0.0.1:9000", "http://0.0.0.0:1"])
def test_a_page_at_another_port_of_this_machine_is_let_in_where_neighbours_are_and_the_server_is_local(origin) -> None:
    assert Origins(neighbours=True).refuse([HERE], [origin]) is None
    assert Origins().refuse([HERE], [origin]) is Foreign.PAGE
    assert Origins(local=False, neighbours=True).refuse([HERE], [origin])
    assert Origins(proxied=True, neighbours=True).refuse(["crag.example"], [origin])


def test_the_origins_that_the_owner_named_are_let_in() -> None:
    named = Origins(local=False, origins=("https://portal.example", "intranet.example"))
    assert all(named.refuse([HERE], [each]) is None for each in ("https://portal.example", "http://intranet.example:8"))
    assert named.refuse([HERE], ["http://portal.example"]) and named.refuse([HERE], ["https://portal.example:444"])


def test_two_origins_are_none() -> None:
    assert Origins().refuse([HERE], [f"http://{HERE}", EVIL]) and Origins().refuse([HERE], [f"http://{HERE}"] * 2)


def test_what_comes_over_the_network_to_a_server_for_this_machine_is_refused() -> None:
    """As when another program serves the app at an address that the app does not know."""
    for address in ("192.168.1.5", "10.0.0.1", "2001:db8::1"):
        assert Origins().refuse(["localhost"], [], address) is Foreign.NETWORK
        assert Origins(local=False).refuse(["localhost"], [], address) is None
    for address in ("127.0.0.1", "::1", "::ffff:127.0.0.1", "", "/a/socket"):
        assert Origins().refuse(["localhost"], [], address) is None


def test_loopback_is_what_can_only_be_this_machine() -> None:
    assert all(map(is_loopback, ("localhost", "a.b.localhost", "127.0.0.1", "::1", "::ffff:127.0.0.1")))
    assert not any(
        map(is_loopback, ("", "0.0.0.0", "::", "example", "1.1.1.1", "localhost.example", "127.0.0.1.example"))
    )
