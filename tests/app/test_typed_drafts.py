"""What was typed when a sign-in ran out is given back to the same person, once, in the workspace it was meant for."""

import time
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from crag.admin.people import Identity
from crag.admin.roles import Actor
from tests.support.signing_in import SECRET, claims_of
from tests.support.small_pdf import small_pdf
from ui.access import oidc
from ui.access.oidc import Provider, SignIn
from ui.app.program import program

TYPED = "What did the lighthouse guide?"
AUTH = {
    **{"redirect_uri": "http://localhost:8501/oauth2callback", "cookie_secret": SECRET, "client_id": "crag-test"},
    **{"client_secret": "x", "server_metadata_url": "http://localhost/.well-known/openid-configuration"},
}


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setenv("CRAG_NEW_PEOPLE", "editor")
    monkeypatch.setattr("ui.access.signed_in._KEPT", 0.0)
    before = st.secrets
    yield
    st.secrets = before


def opened(app: AppTest, said: dict[str, Any], ws: str = "") -> AppTest:
    app = AppTest.from_file(app._script_path, default_timeout=120)
    app.secrets = {"auth": AUTH}
    app.user = {"is_logged_in": True, "provider": "default", **said}
    if ws:
        app.query_params["ws"] = ws
    app.run()
    assert not app.exception
    return app


def box(tab: AppTest) -> str:
    """What stands in the box for the question before anybody types."""
    return str(tab.chat_input(key="question").proto.value)


@pytest.mark.parametrize("ended", ["age", "hand"])
def test_what_was_typed_comes_back_after_the_next_sign_in_of_the_same_person(app, ended) -> None:
    said, engine = claims_of("ed", iat=int(time.time()) - 3700), program().engine
    ed = engine.teams.people.admit(Identity.of(said))
    space = engine.teams.spaces.make("Harbour", Actor(name=ed.called, id=ed.id)).name
    for _ in engine.add("a.pdf", small_pdf("The lighthouse guided ships."), workspace=space):
        pass
    tab = opened(app, said, space)
    assert box(tab) == ""
    if ended == "age":
        program().configure(signin_hours=1)
    else:
        here = SignIn(providers=(Provider(name="default", title="", client="crag-test", issuer="http://localhost"),))
        found = oidc.signed({"provider": "default", **said}, here, 12)
        engine.teams.people.sign_out(found.hash, found.forgotten_at, by="test")
    tab.chat_input(key="question").set_value(TYPED).run()
    assert not engine.library(space).runs.ids(), "nothing is asked for who is not in"
    eve = engine.teams.people.admit(Identity.of(claims_of("eve")))
    engine.teams.spaces.share(space, "person", eve.id, "editor", Actor(name="x", administers=True))
    assert box(opened(app, claims_of("eve"), space)) == "", "another person gets nothing of it"
    back = opened(app, claims_of("ed"))
    if ended == "hand":
        assert "question" not in {each.key for each in back.chat_input}, "their own workspace, which is empty"
        return
    assert (back.query_params["ws"], box(back)) == (space, TYPED)
    assert box(opened(app, claims_of("ed"), space)) == "", "once"
