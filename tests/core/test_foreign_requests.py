"""Requests that are refused by their Host and Origin: each case of a name, a page and a place to listen."""

import asyncio
import socket
from pathlib import Path

import pytest

from crag.admin.access import Access, Caller
from crag.core.errors import SettingsError
from crag.runtime.origins import Foreign, Origins, is_loopback
from crag.runtime.processes import UNREAD_SECONDS, listening

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


# The socket of a server: its connections wait for nobody, and what can't be had is said


def test_a_connection_that_it_takes_sends_every_part_of_a_reply_at_once() -> None:
    """Else a reply in two parts waits for the client's word on the first: 40 ms each time."""

    async def taken(held: socket.socket) -> int:
        options = asyncio.Queue[int]()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            taken = writer.get_extra_info("socket")
            options.put_nowait(taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        async with await asyncio.start_server(answer, sock=held):
            _, writer = await asyncio.open_connection(*held.getsockname()[:2])
            found = await options.get()
            writer.close()
            return found

    assert asyncio.run(taken(listening("127.0.0.1", 0)))


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="only Linux has it")
def test_a_connection_whose_client_reads_nothing_is_closed_by_the_system() -> None:
    with listening("127.0.0.1", 0) as held, socket.create_connection(held.getsockname()[:2]):
        taken, _ = held.accept()
        with taken:
            assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == UNREAD_SECONDS * 1000


def test_a_port_that_there_is_not_is_told() -> None:
    with pytest.raises(SettingsError, match=r"Port 70000 of 127\.0\.0\.1 can't be had"):
        listening("127.0.0.1", 70_000)


def test_a_port_that_is_taken_is_told() -> None:
    with listening("127.0.0.1", 0) as held:
        port = held.getsockname()[1]
        with pytest.raises(SettingsError, match=f"Port {port} of 127.0.0.1 can't be had: Address already in use"):
            listening("127.0.0.1", port)


# Who may use a server: tokens and their workspaces, and what is refused where there are none


def test_each_token_has_its_workspace_and_nothing_else_is_let_in(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("# of the team\n\nthird-token=gamma\n")
    tokens = "first-token==alpha, second-token=beta"
    access = Access.from_environment(environment={"CRAG_TOKENS": tokens, "CRAG_TOKENS_FILE": str(file)})
    assert access.asks
    assert access.caller(["Bearer first-token="]) == Caller(number=1, workspace="alpha")
    assert access.caller(["bearer second-token"]) == Caller(number=2, workspace="beta")
    assert access.caller(["Bearer third-token"]) == Caller(number=3, workspace="gamma")
    for wrong in (
        [],
        [""],
        ["Bearer"],
        ["Bearer first-token"],
        ["Basic second-token"],
        ["second-token"],
        ["Bearer \ud800"],
    ):
        assert access.caller(wrong) is None
    assert access.caller(["Bearer second-token", "Bearer third-token"]) is None
    assert repr(access) == "Access(3 tokens)"


def test_without_tokens_whoever_comes_has_the_one_workspace_on_this_machine() -> None:
    access = Access.from_environment("mine", environment={})
    assert not access.asks and access.caller(["Bearer anything"]) == Caller(number=0, workspace="mine")
    for host in ("127.0.0.1", "127.1.2.3", "::1", "localhost"):
        access.check_address(host)
    for host in ("0.0.0.0", "::", "192.168.1.2", "example.org", ""):
        with pytest.raises(SettingsError, match="Without tokens"):
            access.check_address(host)
    Access([("a-token", "alpha")]).check_address("0.0.0.0")


@pytest.mark.parametrize(
    "entry", ["no-workspace", "secret=Not A Name", "=alpha", "sec ret=alpha", "secret=", "sécret=a"]
)
def test_an_entry_that_cant_be_used_is_refused_without_showing_it(entry: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Access.from_environment(environment={"CRAG_TOKENS": f"good-token=alpha,{entry}"})
    assert "Entry 2" in str(caught.value)
    assert "secret" not in str(caught.value) and "good-token" not in str(caught.value)


def test_other_faults_of_what_is_given(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="second workspace"):
        Access([("token", "alpha"), ("token", "beta")])
    with pytest.raises(SettingsError, match="no name for a workspace"):
        Access(workspace="../etc")
    (tmp_path / "empty").write_text("# none yet\n")
    for given in ({"CRAG_TOKENS": " , "}, {"CRAG_TOKENS_FILE": str(tmp_path / "empty")}):
        with pytest.raises(SettingsError, match="there is none"):
            Access.from_environment(environment=given)
    with pytest.raises(SettingsError, match="CRAG_TOKENS_FILE names can't be read") as caught:
        Access.from_environment(environment={"CRAG_TOKENS_FILE": str(tmp_path / "gone")})
    assert str(tmp_path) not in str(caught.value)
