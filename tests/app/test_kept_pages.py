"""Keeping web pages in the app: the button beside a source, what came of it, the panel of gaps, and the scope."""

from collections.abc import Iterator

import pytest

from crag.core.filters import Scope
from crag.core.trace import Trace
from crag.core.types import Action
from crag.engine import Engine
from crag.testing.fakes import ScriptedEvaluator
from tests.support.app_text import pick, said
from tests.support.small_library import TEXTS, WordEmbedder, add_document, fill
from tests.support.tab_states import state_in
from ui.app.program import program
from ui.app.tab import ChoicesState, RunsState
from ui.documents.state import DocumentsState

QUESTION = "How long does the moon take to circle the earth?"


@pytest.fixture
def engine(data, tmp_path_factory, monkeypatch) -> Iterator[Engine]:
    """Two documents that know nothing of the moon, and a folder in place of the web that does."""
    web = tmp_path_factory.mktemp("web")
    (web / "moon.md").write_text("# The <b>moon</b>\n\nThe moon circles the earth in about twenty-seven days.\n")
    monkeypatch.setenv("CRAG_WEB", "folder")
    monkeypatch.setenv("CRAG_WEB_FOLDER", str(web))
    evaluator = ScriptedEvaluator(score=lambda text: 0.9 if "moon" in text else 0.02)
    program().make = lambda config: Engine(config, embedder=WordEmbedder(), evaluator=evaluator)
    engine = program().engine
    fill(engine)
    add_document(engine, "other.pdf", TEXTS)
    return engine


def ask(app, question: str = QUESTION) -> Trace:
    app.chat_input(key="question").set_value(question).run()
    assert not app.exception
    return program().engine.library().runs.trace(state_in(app, RunsState).selected)


def shown(app) -> str:
    assert not app.exception
    return said(app)


def test_a_used_page_is_kept_with_one_click_and_cited_as_what_it_is(app, engine):
    app.run()
    first = ask(app)
    assert first.action is Action.INCORRECT
    page = first.pages[0]
    assert shown(app).count(f'data-pick="keep:{page.id}"') == 2, "beside the source, and in the evidence"
    pick(app, f"keep:{page.id}")
    assert "✓ Kept as" in shown(app) and f'data-pick="keep:{page.id}"' not in said(app)
    assert "unverified until you confirm" in app.toast[0].value
    document = engine.library().documents.all()[-1]
    assert (document.url, document.confidence) == (page.url, 0.5)

    again = ask(app)
    assert again.action is Action.CORRECT
    text = shown(app)
    assert "WEB, KEPT" in text and "Kept from the web, unverified" in text and "moon.md" in text
    assert "With a page kept from the web, unverified" in text
    pick(app, f"verify:{document.id}")
    assert "Mark as verified" not in shown(app) and "✓ Verified since" in said(app)
    assert engine.library().documents.fields(document.id)["verified"] is True
    pick(app, "cite:1")
    assert "twenty-seven days" in shown(app) and not app.error


def test_gaps_lead_to_their_runs_and_are_closed_by_an_answer(app, engine):
    app.run()
    ask(app)
    app.switch_page("pages/documents.py").run()
    assert "Coverage gaps" in [each.label for each in app.expander][-1] and QUESTION not in said(app)
    app.session_state["gaps-open"] = True
    app.run()
    assert QUESTION in shown(app) and "Asked 1 time" in said(app)
    app.button(key="gap-run-0").click().run()
    app.switch_page("pages/ask.py").run()
    trace = engine.library().runs.trace(state_in(app, RunsState).selected)
    assert trace.question == QUESTION
    pick(app, f"keep:{trace.pages[0].id}")
    app.switch_page("pages/documents.py").run()
    app.session_state["gaps-open"] = True
    app.run()
    app.button(key="gap-ask-0").click().run()
    app.switch_page("pages/ask.py").run()
    assert "twenty-seven days" in shown(app)
    assert engine.library().runs.latest(1)[0].action == "CORRECT"
    app.switch_page("pages/documents.py").run()
    app.session_state["gaps-open"] = True
    app.run()
    assert "None: recent questions" in shown(app)


def test_a_question_is_asked_of_chosen_documents_which_the_run_names(app, engine):
    engine.library().documents.describe("report.pdf", {"tags": ("survey",)})
    app.run()
    state_in(app, RunsState).scope = Scope((engine.library().documents.all()[1].id,))
    app.run()
    assert app.button(key="scope-clear").label == "Ask all"
    trace = ask(app)
    assert {found.chunk.source for each in trace.rounds for found in each.chunks} == {"other.pdf"}
    assert "Asked of</span> other.pdf" in shown(app)
    next(slider for slider in app.slider if slider.label == "Strip filter").set_value(0.5).run()
    app.button(key="tune-use").click().run()
    assert state_in(app, ChoicesState).changes == {"balanced": {"strip_filter": 0.5}}, "the scope is no setting to keep"
    app.session_state["scope-choice"] = True
    app.run()
    app.multiselect(key="scope-chosen-tags").set_value(["survey"]).run()
    assert state_in(app, RunsState).scope.tags == ("survey",)
    both = ask(app)
    assert both.scope is not None and (both.scope.documents, both.scope.tags) == (("other.pdf",), ("survey",))
    state_in(app, RunsState).scope = Scope((engine.library().documents.all()[0].id,))  # as another page does
    app.run()
    assert ask(app).scope.tags == ()
    app.button(key="scope-clear").click().run()
    assert ask(app).scope is None and not [each for each in app.button if each.key == "scope-clear"]


def test_chosen_documents_that_were_deleted_are_told_and_left_out(app, engine):
    app.run()
    first, second = (each.id for each in engine.library().documents.all())
    state_in(app, RunsState).scope = Scope((first, second))
    engine.library().documents.delete(first)
    app.run()
    assert "1 document that you chose" in app.warning[0].value and "the others" in app.warning[0].value
    assert state_in(app, RunsState).scope == Scope((second,))
    engine.library().documents.delete(second)
    app.run()
    assert not app.exception


def test_a_click_on_what_the_run_does_not_have_is_told(app, engine):
    app.run()
    ask(app)
    for what in ("keep:nowhere", "verify:report.pdf"):
        pick(app, what)
        assert len(app.error) == 1 and engine.library().size[0] == 2


def test_a_kept_page_is_not_offered_to_be_fetched_again(app, engine):
    app.run()
    trace = ask(app)
    pick(app, f"keep:{trace.pages[0].id}")
    kept = engine.library().documents.all()[-1]
    app.switch_page("pages/documents.py").run()
    state_in(app, DocumentsState).selected = (kept.id,)
    app.run()
    keys = {each.key for each in app.button}
    assert kept.url and "documents-ask" in keys and "documents-again" not in keys and not app.exception
