"""The Ask page: empty, with the sample, after a question, under the sliders, when things fail."""

from dataclasses import replace

import pytest

from crag.core.sample import load_sample
from crag.core.settings import Settings
from crag.core.types import ShortAnswer
from tests.support import local_models
from tests.support.app_text import latest, pick, said
from tests.support.small_pdf import small_pdf
from tests.support.tab_states import state_in
from ui.app.program import program
from ui.app.tab import ChoicesState, RunsState

QUESTION = load_sample().questions[0].question


def ask(app, question=QUESTION):
    app.run()
    app.chat_input(key="question").set_value(question).run()
    assert not app.exception
    return app


def test_an_empty_library_has_the_box_and_the_sample_s_questions_and_says_what_is_on(app):
    app.run()
    assert (
        not app.exception
        and app.button(key="try-0").label.replace("\\", "") == QUESTION
        and app.chat_input(key="question")
    )
    assert "Runs on this machine · details" in said(app)
    assert "off **Web search**" in said(app) and "extractive" in said(app)


def test_a_question_to_the_sample_loads_it_and_is_asked_of_it(app):
    app.run()
    app.button(key="try-0").click().run()
    assert not app.exception and program().engine.library().size[0] == 1
    assert latest().question == QUESTION and "Your documents: enough" in said(app)


def test_a_question_before_any_document_waits_for_one_and_can_be_taken_back(app):
    ask(app)
    assert f"“{QUESTION}” is asked as soon as a document has been read." in said(app).replace("\\", "")
    app.button(key="waiting-off").click().run()
    assert "is asked as soon" not in said(app)
    ask(app).switch_page("pages/documents.py").run()
    app.button(key="sample").click().run()
    assert program().engine.library().size[0] == 1
    app.switch_page("pages/ask.py").run()
    assert not app.exception and latest().question == QUESTION and app.query_params["run"] == latest().run_id


def test_where_the_sample_is_not_the_latest_documents_are_asked_about(app):
    [*program().engine.add_files([("boat-rental_terms.pdf", small_pdf("The fee is five dollars."))])]
    app.run()
    assert app.button(key="try-0").label.replace("\\", "") == "What is boat rental terms about?"


def test_a_question_ends_in_a_cited_answer_with_its_evidence(with_sample, app):
    ask(app)
    trace, page = latest(), said(app)
    assert trace.answer and trace.answer.citations
    assert f"{trace.action} in the words of the paper" in page and 'data-pick="cite:1"' in page
    assert page.count('class="rank num"') >= len(trace.round.chunks)
    assert "As a set" in page and "The best chunk scores 0." in page
    assert app.query_params["run"] == trace.run_id, "a reload finds the run again"


def test_a_citation_opens_its_page_as_an_image_and_closes_again(with_sample, app):
    ask(app)
    state_in(app, RunsState).opened = "cite:1"
    app.run()
    assert not app.exception and len(app.image) == 1
    assert "Source 1: " in said(app)
    app.button(key="page-on").click().run()
    assert len(app.image) == 1 and not app.error
    app.button(key="page-close").click().run()
    assert not app.image


@pytest.mark.parametrize("picked", ["cite:99", "chunk:none", "cite:<b>"])
def test_a_made_up_click_is_refused_in_words(with_sample, app, picked):
    ask(app)
    state_in(app, RunsState).opened = picked
    app.run()
    assert not app.exception and len(app.error) == 1


def test_sliders_re_decide_at_once_and_can_be_kept(with_sample, app):
    ask(app)
    trace = latest()
    state_in(app, RunsState).lines = (trace.run_id, 0.3, 1.0)
    app.run()
    assert not app.exception and "What if" in said(app) and "would become" in said(app)
    assert len(program().engine.library().runs.latest(10)) == 1, "no new run was needed"
    app.selectbox(key="strategy-choice").set_value("paper").run()
    app.button(key="tune-use").click().run()
    assert app.selectbox(key="strategy-choice").value == "balanced", "they bring their strategy along"
    app.chat_input(key="question").set_value("Who established the Civil Service Commission?").run()
    assert Settings.checked(latest().settings).upper == 1.0


def test_words_kept_move_a_stored_run_too(with_sample, app):
    ask(app)
    assert "because" in said(app) and "of 400 words kept" in said(app)
    next(slider for slider in app.slider if slider.label == "Words kept").set_value(100).run()
    assert not app.exception and "of 100 words kept" in said(app) and "strips would be kept instead of" in said(app)
    app.button(key="tune-back").click().run()
    assert "of 400 words kept" in said(app)


@pytest.mark.parametrize("name", ["plain-rag", "binary-any", "joint", "loop", "three-way"])
def test_other_strategies_draw_too(with_sample, app, name):
    app.run()
    app.selectbox(key="strategy-choice").set_value(name).run()
    ask(app)
    assert not app.exception and not app.error and latest().strategy == name


def test_a_click_on_a_run_that_is_gone_is_told_and_the_page_lives_on(with_sample, app):
    app.run()
    pick(app, "run:gone")
    assert "There is no run gone" in said(app) and not app.exception
    ask(app)
    assert 'data-pick="cite:1"' in said(app)


def test_a_defect_in_a_part_is_told_in_words_and_the_page_lives_on(with_sample, app):
    class Broken:
        id, calls_models = "broken", False

        def grade(self, question, passages):
            raise ZeroDivisionError("secret")

        grade_joint = grade

    program().make = lambda config: local_models.engine(config, evaluator=Broken())
    ask(app)
    assert "ZeroDivisionError" in said(app) and "secret" not in said(app)
    assert not app.exception and app.chat_input(key="question")


def test_a_question_before_any_document_says_what_to_do(app):
    app.run()
    state_in(app, RunsState).opened = None
    state_in(app, ChoicesState).strategy = "balanced"
    library = program().engine.library()
    list(program().engine.ask("Anything?"))
    assert not library.exists, "a question that nothing could be retrieved for leaves nothing behind"
    list(program().engine.add("light.pdf", small_pdf("The lighthouse guided ships.")))
    library.documents.delete(library.documents.all()[0].id)
    list(program().engine.ask("Anything?"))
    [summary] = library.runs.latest(1)
    app.query_params["run"] = summary.run_id
    app.run()
    assert not app.exception and "Add files (Documents page" in said(app)


def test_markup_in_a_question_stays_text(with_sample, app):
    ask(app, "<script>alert(1)</script> **bold** ![x](http://example.org/x.png)")
    page = said(app)
    assert "<script>alert" not in page and "&lt;script&gt;" in page
    assert not any("![x](" in str(button.label) for button in app.button)


def test_an_unknown_run_in_the_address_is_told_and_dropped(with_sample, app):
    app.query_params["run"] = "no-such-run"
    app.run()
    assert not app.exception and "not in this library" in said(app)
    app.run()
    assert not app.error


def test_a_data_folder_that_cannot_be_used_is_told(app, data, monkeypatch):
    (data / "file").write_text("in the way")
    monkeypatch.setenv("CRAG_DATA", str(data / "file"))
    app.run()
    assert not app.exception and app.error
    monkeypatch.setenv("CRAG_DATA", str(data))


def test_a_wrong_environment_variable_is_told(app, monkeypatch):
    monkeypatch.setenv("CRAG_MAX_PAGES", "many")
    app.run()
    assert not app.exception and "max_pages" in str(app.error[0].value).replace("\\", "")
    monkeypatch.delenv("CRAG_MAX_PAGES")


def test_a_short_answer_from_the_web_says_so_and_is_marked_in_its_page(with_sample, app):
    ask(app, "Why did the airplane skid off the runway at Wausau?")
    trace = latest()
    cited = trace.answer.citations[0]
    start = trace.sources[cited.source_id].text.index("packed snow")
    short = ShortAnswer(
        text="packed snow",
        citation=1,
        source_id=cited.source_id,
        strip_id=cited.strip_id,
        start=start,
        end=start + len("packed snow"),
        confidence=0.84,
    )
    runs = program().engine.library().runs
    runs.save(replace(trace, answer=replace(trace.answer, short=short)), runs.events(trace.run_id))
    state_in(app, RunsState).opened = "cite:1"
    app.run()
    page = said(app)
    assert not app.exception and 'packed snow <span class="keep"><button class="cite web" data-pick="cite:1"' in page
    assert '</button> <span class="tag web">WEB</span></span></span></div>' in page
    assert page.count('<span class="answering">packed snow</span>') == 2, "in the sentence quoted, and where it stands"
