"""What may stand on a page or not has a place either way: what comes after it, and may be followed, never moves."""

from datetime import date

import pytest
from streamlit.testing.v1 import AppTest

from crag.admin.idle import Idle
from crag.storage.in_flight import InFlightJob, InFlightJobs
from crag.storage.private import name_of
from tests.support.app_text import pick, said
from ui.app.program import program

TEXT = b"The moon circles the earth in twenty-seven days."
CUT_OFF = InFlightJob(id="a" * 16, kind="upload", label="moon.txt", at="2026-11-01T00:00:00+00:00", names=("moon.txt",))


def place(app: AppTest) -> int:
    """How many places are taken before the listener for clicks, below all that comes and goes."""
    assert not app.exception
    named = {at: str(getattr(getattr(each, "proto", None), "id", "")) for at, each in app.main.children.items()}
    return next(at for at, id in named.items() if id.endswith("-picker"))


def shown(app: AppTest) -> str:
    return "\n".join([said(app), *(each.value for each in app.info), *(each.label for each in app.button)])


def fill(app, monkeypatch) -> str:
    for _ in program().engine.add("moon.txt", TEXT, name_of(app.query_params["w"])):
        pass
    return "Share to read"


def end(app, monkeypatch) -> str:
    monkeypatch.setattr(Idle, "ends", lambda self, name: date(2027, 1, 9))
    return "9 January 2027"


def come_back(app, monkeypatch) -> str:
    app.session_state["returned"] = True
    return "The program was started anew"


def be_sent(app, monkeypatch) -> str:
    app.session_state["workspace-sent"] = True
    return "If somebody sent you here"


def be_refused(app, monkeypatch) -> str:
    app.session_state["workspace-refused"] = True
    return "leads to no library here"


def be_cut_off(app, monkeypatch) -> str:
    monkeypatch.setattr(InFlightJobs, "cut_off", lambda self: [CUT_OFF])
    return "The program ended while it worked on"


def be_full(app, monkeypatch) -> str:
    fill(app, monkeypatch)
    monkeypatch.setattr("crag.admin.quotas._BELIEVED", 0.0)
    return "The limit is reached"


@pytest.fixture
def first(app, monkeypatch) -> AppTest:
    """A visitor with a library of their own, which may hold one document."""
    monkeypatch.setenv("CRAG_WORKSPACES", "private")
    monkeypatch.setenv("CRAG_LIBRARY_DOCUMENTS", "1")
    return app.run()


@pytest.mark.parametrize("come", [fill, end, come_back])
def test_what_every_page_begins_with_moves_nothing(first, monkeypatch, come):
    later = AppTest.from_file(
        first._script_path, default_timeout=60
    )  # from its second run on, a test runs a page alone
    later.query_params["w"] = first.query_params["w"]
    telling = come(later, monkeypatch)
    later.run()
    assert telling not in shown(first) and telling in shown(later)
    assert place(later) == place(first)


@pytest.mark.parametrize("come", [come_back, be_sent, be_refused, be_cut_off, be_full])
def test_what_is_told_above_an_upload_moves_nothing(first, monkeypatch, come):
    page = first.switch_page("pages/documents.py").run()
    before, told, telling = place(page), shown(page), come(page, monkeypatch)
    page.run()
    assert telling not in told and telling in shown(page)
    assert place(page) == before


def test_a_click_that_fails_moves_nothing(app):
    app.run().run()
    before = [at for at, each in app.main.children.items() if each.type == "html"]
    pick(app, "run:unknown")
    assert [error.value for error in app.error]
    assert [at for at, each in app.main.children.items() if each.type == "html"] == before
