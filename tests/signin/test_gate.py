"""The gate before every page, in the app's own script: set up wrongly, nobody there, three roles, removed, expired."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from crag.core.errors import AccessError
from crag.runtime.jobs import Jobs
from tests.support import local_models
from tests.support.signing_in import SECRET, claims_of
from ui.access import oidc
from ui.access.oidc import Provider, SignIn
from ui.app.program import program, stop_of_removed

ROOT = Path(__file__).resolve().parents[2]
HERE = "http://localhost:8501"
ISSUER = "http://localhost"
PROVIDER = {
    "client_id": "crag-test",
    "client_secret": "x",
    "server_metadata_url": ISSUER + "/.well-known/openid-configuration",
}
AUTH: dict[str, Any] = {"redirect_uri": f"{HERE}/oauth2callback", "cookie_secret": SECRET, **PROVIDER}
PAGES = ("ask", "documents", "tune", "demo", "compare", "evaluate", "settings")


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("CRAG_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("CRAG_ADMINS", "ada@example.org")
    monkeypatch.setenv("CRAG_EDITORS_GROUP", "writers")
    before = st.secrets
    st.cache_resource.clear()
    # Models of its own for each test would be loaded, and kept, forty times over.
    program().make, program().warm = local_models.engine, lambda engine: None
    yield
    st.secrets = before
    program().close()
    st.cache_resource.clear()


@pytest.fixture
def opened() -> Callable[..., AppTest]:
    """The app as somebody of whom a provider said this sees it; by nobody without claims."""

    def open_app(said: dict[str, Any] | None = None, auth: dict[str, Any] = AUTH, **more: Any) -> AppTest:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=240)
        app.secrets = {"auth": auth}
        app.user = {"is_logged_in": True, "provider": "default", **said} if said else {"is_logged_in": False}
        return app.run()

    return open_app


def keys(app: AppTest) -> set[str]:
    return {str(each.key) for each in app.button} | {str(each.key) for each in app.get("file_uploader")}


def refusals(app: AppTest) -> str:
    """By the gate, or by the page's own session where the page is run without it, as AppTest does the second time."""
    return " ".join(str(each.value) for each in (*app.warning, *app.error))


def test_who_has_not_signed_in_sees_one_button_a_provider_and_nothing_else(opened) -> None:
    named = {name: each for name, each in AUTH.items() if name not in PROVIDER}
    app = opened(auth={**named, "google": PROVIDER, "house": {**PROVIDER, "title": "The house"}})
    assert [each.label for each in app.button] == ["Sign in with Google", "Sign in with The house"]
    assert not app.error and not app.warning and not app.exception
    assert not (Path(str(program().config.storage.data)) / "workspaces").exists()


@pytest.mark.parametrize("page", PAGES)
def test_every_page_is_behind_the_gate(opened, page) -> None:
    app = opened()
    app.switch_page(f"pages/{page}.py").run()
    assert not keys(app) - {"signin-default"}
    assert "Nobody has signed in" in refusals(app)


def test_three_roles_are_offered_what_they_may(opened) -> None:
    seen = {}
    for subject, groups in (("vera", []), ("ed", ["writers"]), ("ada", [])):
        app = opened(claims_of(subject, groups=groups))
        found = {"try-0"} & keys(app)
        app.switch_page("pages/settings.py").run()
        saves = [each for each in app.button if each.label == "Save"]
        people = any(each.label == "Admins" for each in app.text_input)
        seen[subject] = (bool(found), bool(saves) and not saves[0].disabled, people)
        assert not app.exception
    assert seen == {"vera": (False, False, False), "ed": (True, False, False), "ada": (True, True, True)}


def test_what_a_role_may_not_do_is_not_done_though_it_is_asked_for(opened) -> None:
    """The doing asks again: it does not rest on a button that was not drawn."""
    app = opened(claims_of("vera"))
    assert program().engine.teams.people.of("http://localhost", "vera").role == "viewer"

    def crafted() -> None:
        import threading

        from crag.core.errors import AccessError
        from ui.app.session import Session
        from ui.documents import uploads

        session = Session()
        for act in ("edit", "administer"):
            try:
                session.require(act)
            except AccessError:
                continue
            raise AssertionError(act)
        try:
            uploads.begin(session, "x", lambda cancel, emit: threading.Event().wait(0))
        except AccessError:
            return
        raise AssertionError("a viewer began an upload")

    other = AppTest.from_function(crafted, default_timeout=240)
    other.secrets, other.user = app.secrets, app.user
    assert not other.run().exception
    assert [each.what for each in program().engine.teams.audit.entries() if each.refused]


def test_who_is_removed_while_working_is_out_with_the_next_touch(opened, monkeypatch) -> None:
    app = opened(claims_of("ed", groups=["writers"]))
    assert "try-0" in keys(app)
    engine, jobs = program().engine, Jobs()
    [ed] = engine.teams.people.all()
    theirs = jobs.start("run", "q", lambda cancel, emit: cancel.wait(60), workspace="w", who=ed.id)
    others = jobs.start("run", "q", lambda cancel, emit: cancel.wait(60), workspace="w")
    engine.teams.people.remove(ed.id, by="ada@example.org")
    stop_of_removed(engine, jobs)
    assert theirs.stopping and not others.stopping
    others.stop()
    monkeypatch.setattr("ui.access.signed_in._KEPT", 0.0)
    app.run()
    assert "try-0" not in keys(app) and "You were removed" in refusals(app)


def test_a_role_by_group_lasts_no_longer_than_its_sign_in_and_not_beyond_the_next_one(opened, monkeypatch) -> None:
    """Claims are as old as their sign-in: its hours bound a role by group, and what a later sign-in says counts."""
    monkeypatch.setenv("CRAG_SIGNIN_HOURS", "9")
    hour = 3600
    then = int(time.time())
    first = opened(claims_of("ed", groups=["writers"], iat=then - 8 * hour))
    assert "try-0" in keys(first)
    second = opened(claims_of("ed", groups=[], iat=then))
    assert "try-0" not in keys(second)
    monkeypatch.setattr("ui.access.signed_in._KEPT", 0.0)
    first.run()
    assert "try-0" not in keys(first) and not first.exception, "another browser's older claims count no more"
    late = opened(claims_of("olga", groups=["writers"], iat=then - 10 * hour))
    assert "has ended" in refusals(late) and program().engine.teams.people.of("http://localhost", "olga") is None


def test_signing_out_ends_the_sign_in_in_every_tab(opened, monkeypatch) -> None:
    said = claims_of("ed")
    first, second = opened(said), opened(said)
    first.button(key="sign-out").click().run()
    assert not keys(first) - {"signin-default"} and "Nobody has signed in" in refusals(first)
    monkeypatch.setattr("ui.access.signed_in._KEPT", 0.0)
    second.run()
    assert "signed out" in refusals(second)
    acts = [each.act for each in program().engine.teams.audit.entries() if not each.refused]
    assert acts == ["sign-out", "sign-in"]


WRONG = {
    "no cookie secret": ({"cookie_secret": ""}, "cookie_secret"),
    "a short cookie secret": ({"cookie_secret": "changeme"}, "cookie_secret"),
    "no client": ({"client_id": ""}, "is missing client_id"),
    "no metadata": ({"server_metadata_url": None}, "is missing server_metadata_url"),
    "a provider without TLS": ({"server_metadata_url": "http://login.example.org/x"}, "server_metadata_url must begin"),
    "an address without TLS": ({"redirect_uri": "http://crag.example.org/oauth2callback"}, "redirect_uri must begin"),
    "another path": ({"redirect_uri": f"{HERE}/elsewhere"}, "/oauth2callback"),
    "no address": ({"redirect_uri": ""}, "redirect_uri"),
    "an underscore": ({"my_house": PROVIDER}, "underscore"),
    "an empty provider": ({"house": {}}, "[auth.house] is missing"),
    "no issuer": ({"server_metadata_url": f"{ISSUER}/openid"}, "needs issuer"),
    "trust that is neither yes nor no": ({"trust_email": "yes"}, "trust_email must be"),
    "no name of a claim": ({"email_verified_claim": ""}, "email_verified_claim must be"),
}


@pytest.mark.parametrize(("change", "said"), WRONG.values(), ids=WRONG)
def test_set_up_wrongly_nobody_is_let_in_and_the_operator_is_told_in_a_line(opened, change, said) -> None:
    app = opened(claims_of("ada"), auth={**AUTH, **change})
    assert keys(app) == set() and "nobody is let in" in app.error[0].value
    found = oidc.configured() if app.secrets else None
    st.secrets = type(
        "Secrets", (), {"load_if_toml_exists": lambda self: True, "get": lambda self, name: {**AUTH, **change}}
    )()
    found = oidc.configured()
    assert found is not None and said in found.problem and "\n" not in found.problem
    assert SECRET not in found.problem


@pytest.mark.parametrize("broken", ["[auth", 'auth = "x"', "[auth]", "[auth]\nredirect_uri = 1"])
def test_secrets_that_can_t_be_read_let_nobody_in(tmp_path, monkeypatch, broken) -> None:
    from streamlit.runtime.secrets import Secrets

    file = tmp_path / "secrets.toml"
    file.write_text(broken)
    for where in ("streamlit.config.get_option", "streamlit.get_option"):  # Streamlit's own, and what it gives others
        monkeypatch.setattr(
            where, lambda name, was=st.get_option: [str(file)] if name == "secrets.files" else was(name)
        )
    st.secrets = Secrets()
    found = oidc.configured()
    assert found is not None and found.problem and oidc.on()
    file.write_text("[other]\nx = 1")
    st.secrets = Secrets()
    assert oidc.configured() is None


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"aud": "other"}, "another app"),
        ({"aud": ["other"], "azp": "crag-test"}, "another app"),
        ({"provider": "other"}, "another app"),
        ({"iss": "http://elsewhere.example"}, "another provider"),
        ({"iss": f"{ISSUER}/realms/other"}, "another provider"),
        ({"iss": None}, "another provider"),
        ({"iat": time.time() - 13 * 3600}, "ended"),
        ({"iat": None}, "ended"),
        ({"iat": True}, "ended"),
        ({"iat": time.time() + 4000}, "in the future"),
    ],
)
def test_claims_that_do_not_count(said, why) -> None:
    here = SignIn(providers=(Provider(name="default", title="", client="crag-test", issuer=ISSUER),), origin=HERE)
    good = {"provider": "default", **claims_of("ada")}
    assert oidc.signed(good, here, 12).identity.subject == "ada"
    assert oidc.signed({**good, "aud": ["crag-test", "x"]}, here, 12).hash != oidc.signed(good, here, 12).hash
    with pytest.raises(AccessError, match=why):
        oidc.signed({**good, **said}, here, 12)


def test_who_has_no_verified_e_mail_gets_nothing_by_it_and_is_told_what_is_missing(opened) -> None:
    """As at Entra: the claim is absent, and the address is an admin's."""
    said = claims_of("ada")
    del said["email_verified"]
    app = opened(said)
    drawn = " ".join(str(each.value) for each in app.markdown) + " ".join(str(each.body) for each in app.get("html"))
    assert "does not confirm your e-mail address" in drawn and "ask an admin" in drawn
    [ada] = program().engine.teams.people.all()
    assert (ada.role, ada.email, ada.source) == ("viewer", "", "")
    trusting = opened({**said, "nonce": "again"}, auth={**AUTH, "trust_email": True})
    assert program().engine.teams.people.all()[0].source == "CRAG_ADMINS" and "try-0" in keys(trusting)
