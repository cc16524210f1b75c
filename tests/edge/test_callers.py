"""Who is let in and who is refused, by Host and Origin: each case of a name, a page and a place to listen."""

import pytest

from ui.edge.callers import Callers, is_loopback

HERE = "127.0.0.1:8501"
EVIL = "http://evil.example"


@pytest.mark.parametrize(
    "host",
    ["localhost:8501", "LOCALHOST", "127.0.0.1", "127.8.8.8:80", "[::1]:8501", "crag.localhost:8501", "localhost."],
)
def test_a_server_for_this_machine_answers_to_its_names(host) -> None:
    assert Callers().refusal([host], []) == ""


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
    assert "localhost" in Callers().refusal([host], []) and "CRAG_WORKSPACES=private" in Callers().refusal([host], [])
    assert Callers(proxied=True).refusal([host], []) == "" == Callers(local=False).refusal([host], [])


@pytest.mark.parametrize("host", ["app.example", "a.team.example:443", "APP.example"])
def test_a_host_that_its_owner_named_is_answered(host) -> None:
    named = Callers(hosts=("app.example", "*.team.example"))
    assert named.refusal([host], []) == ""
    assert named.refusal(["team.example"], []) and named.refusal(["evilteam.example"], [])
    assert Callers(hosts=("*",)).refusal(["any.example"], []) == ""


def test_whoever_names_no_host_is_no_browser() -> None:
    assert Callers().refusal([], []) == ""


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize(
    "origin", [EVIL, "null", "", "http://", "https://127.0.0.1.evil.example", "http://[", "file://"]
)
def test_a_page_of_another_site_is_refused(local, origin) -> None:
    assert "other sites" in Callers(local=local).refusal([HERE], [origin])
    assert Callers(local=local, any_origin=True).refusal([HERE], [origin]) == ""


def test_the_app_s_own_page_is_let_in_wherever_it_is_served() -> None:
    everywhere = Callers(local=False)
    assert everywhere.refusal(["Crag.example:8501"], ["http://crag.example:8501"]) == ""
    assert everywhere.refusal(["crag.example:8501"], ["http://crag.example"])


@pytest.mark.parametrize("origin", ["http://localhost:3000", "http://127.0.0.1:9000", "http://0.0.0.0:1"])
def test_a_page_of_this_machine_is_let_in_by_a_server_for_this_machine_alone(origin) -> None:
    assert Callers().refusal([HERE], [origin]) == ""
    assert Callers(local=False).refusal([HERE], [origin])
    assert Callers(proxied=True).refusal(["crag.example"], [origin])


def test_the_origins_that_the_owner_named_are_let_in() -> None:
    named = Callers(local=False, origins=("https://portal.example", "intranet.example"))
    assert (
        named.refusal([HERE], ["https://portal.example"]) == "" == named.refusal([HERE], ["http://intranet.example:8"])
    )
    assert named.refusal([HERE], ["http://portal.example"]) and named.refusal([HERE], ["https://portal.example:444"])


def test_two_origins_are_none() -> None:
    assert Callers().refusal([HERE], [f"http://{HERE}", EVIL]) and Callers().refusal([HERE], [f"http://{HERE}"] * 2)


def test_what_comes_over_the_network_to_a_server_for_this_machine_is_refused() -> None:
    """As when another program serves the app at an address that the app was not told of."""
    for address in ("192.168.1.5", "10.0.0.1", "2001:db8::1"):
        assert "--server.address" in Callers().refusal(["localhost"], [], address)
        assert Callers(local=False).refusal(["localhost"], [], address) == ""
    for address in ("127.0.0.1", "::1", "::ffff:127.0.0.1", "", "/a/socket"):
        assert Callers().refusal(["localhost"], [], address) == ""


def test_loopback_is_what_can_only_be_this_machine() -> None:
    assert all(map(is_loopback, ("localhost", "a.b.localhost", "127.0.0.1", "::1", "0.0.0.0")))
    assert not any(map(is_loopback, ("", "example", "1.1.1.1", "localhost.example", "127.0.0.1.example")))
