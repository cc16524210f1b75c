"""Who may use a server: tokens and their workspaces, and what is refused where there are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from crag.admin.access import Access, Caller
from crag.core.errors import SettingsError


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
