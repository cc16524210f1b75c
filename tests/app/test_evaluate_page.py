"""The Evaluate page: question sets, a run with its stop and resume, measures, rows, two results compared, files."""

import csv
import io
import threading

import pytest

from crag.analysis import evaluate as evaluations
from crag.analysis.metrics.metrics import ResultRow
from crag.analysis.metrics.results import row_to_json
from crag.analysis.questions.sets import read_set
from crag.core.config import AppConfig
from crag.core.protocols import RunRequest
from crag.core.settings import Settings
from crag.core.strategies import strategy
from crag.messages.evaluations import ROUGH
from crag.testing.fakes import FixedWeb
from crag.text.spreadsheets import csv_export
from tests.support import app_text, local_models
from tests.support.app_text import over, visit
from ui.app.program import program
from ui.evaluate import funnel, results, sets
from ui.evaluate.evaluation_job import Asking, Stepped

TWO = b"""{"id": "fehb", "question": "What average premium increase was negotiated for FEHB plan year 2020?", \
"answers": ["4.0 percent"], "source": "opm-annual-performance-report-2019.pdf", "page": [4]}
{"id": "cafeteria", "question": "Which company runs the cafeteria in the headquarters of OPM?", \
"labels": ["unanswerable"]}
"""


@pytest.fixture
def page():
    return visit("evaluate")


def library():
    return program().engine.library()


def drop(app, name, data):
    app.file_uploader[0].set_value([(name, data, "text/plain")]).run()
    assert not app.exception
    return app


def view(app, name):
    app.button_group(key="eval-view").set_value(name).run()
    assert not app.exception
    return app


def strategies(app, *names):
    app.button_group(key="eval-strategies").set_value(list(names)).run()
    return app


def run(app, *names):
    strategies(app, *names).button(key="eval-run").click().run()
    assert not app.exception
    return app


def said(page):
    """All that the page says, without the marks that keep Markdown from reading it."""
    return app_text.said(page).replace("\\", "")


def progress(page):
    """What the bar of an evaluation under way says."""
    return page.get("progress")[0].proto.text


def until(job, true_of):
    """Wait for an event of the job; it must come before the job ends."""
    for fresh in job.follow(0.05):
        if any(map(true_of, fresh)):
            return
    pytest.fail(f"the job ended without it: {job.problem}")


# ---- sets ----------------------------------------------------------------------------------------------------------


def test_the_empty_page_says_what_to_do(page):
    assert "No questions yet" in said(page) and page.button(key="eval-sample")
    assert "No results yet" in said(view(page, "results"))
    assert "Two results are needed" in said(view(page, "pair"))


def test_the_sample_questions_take_one_click_and_are_stored_once(page):
    page.button(key="eval-sample").click().run()
    shown = said(page)
    assert "Stored: questions.jsonl, 15 questions" in shown and "**13** with an accepted answer" in shown
    assert "page → pages" in shown and "0 of 1" in shown, "columns, and sources that the library lacks"
    page.button(key="eval-sample").click().run()
    assert "already stored" in said(page) and len(library().evaluations.sets()) == 1


def test_bad_rows_are_named_and_the_good_ones_kept(page):
    rows = ["question,answer,page", "What is A?,4,1", ",lost,2", "What is B?,5,none", "=HYPERLINK(1),6,3"]
    drop(page, "mine.csv", "\n".join(rows).encode())
    [problems] = [each.value for each in page.dataframe if "Problem" in each.value]
    assert "2 rows left out" in said(page) and [*problems["Row"]] == ["3", "4"]
    assert "it has no question" in problems["Problem"][0]
    [stored] = library().evaluations.sets()
    assert (stored.questions, stored.problems) == (2, 2)
    found = evaluations.question_set(library(), stored.id)
    assert b"'=HYPERLINK(1)" in csv_export(*sets.questions_table(found)), "a formula is never exported live"


def test_a_file_that_cannot_be_used_changes_nothing(page):
    drop(page, "good.jsonl", TWO)
    drop(page, "paper.csv", b"%PDF-1.4 and so on")
    assert "is a PDF" in said(page).replace("\\", "") and page.error
    assert [each.name for each in library().evaluations.sets()] == ["good.jsonl"]


def test_deleting_a_set_takes_its_evaluations_along(with_sample, page):
    drop(page, "two.jsonl", TWO)
    over(run(page, "plain-rag"))
    [stored] = library().evaluations.sets()
    assert "its 1 evaluation" in said(view(page, "questions"))
    page.button(key=f"eval-delete-{stored.id}").click().run()
    assert not page.exception and "No questions yet" in said(page)
    assert evaluations.evaluations(library()) == [] and len(library().runs.ids()) == 2


# ---- runs ----------------------------------------------------------------------------------------------------------


def test_two_strategies_end_in_a_table_rows_files_and_a_comparison(with_sample, page):
    drop(page, "two.jsonl", TWO)
    assert "Everything runs on this machine" in said(page).replace("\\", "")
    over(run(page, "balanced", "plain-rag"))
    assert "Done: two.jsonl, 4 questions" in said(page)
    table = said(view(page, "results"))
    assert "Recall" in table and "nan" not in table.lower().replace("finance", "")
    [actions] = [each.value for each in page.table if "Action right" in list(each.value.get("Measure", []))]
    right = actions.set_index("Measure").loc["Action right"]
    assert right.iloc[-1] == "–", "plain RAG has no action to be right"
    assert sum("Answer retrieved" in each.value for each in page.table) == 2 and "CORRECT" in table
    made = evaluations.evaluations(library())
    assert sorted(each.strategy for each in made) == ["balanced", "plain-rag"] and all(
        each.finished_at for each in made
    )
    rows = evaluations.rows(library(), made[-1].id)
    assert [row.question for row in rows] == list(page.dataframe[0].value["Question"])
    listed = list(csv.DictReader(io.StringIO(csv_export(*results.rows_table(rows)).decode("utf-8-sig"))))
    assert [row["question_id"] for row in listed] == ["fehb", "cafeteria"] and listed[0]["first_holds"] == "yes"
    pair = said(view(page, "pair"))
    assert "Words of evidence" in pair and ROUGH in pair


def test_an_evaluation_is_deleted_after_a_question_with_its_runs_if_wanted(with_sample, page):
    drop(page, "two.jsonl", TWO)
    over(run(page, "plain-rag"))
    view(page, "results")
    [made] = evaluations.evaluations(library())
    page.checkbox(key=f"eval-gone-runs-{made.id}").check().run()
    page.button(key=f"eval-gone-{made.id}").click().run()
    assert not page.exception and "No results yet" in said(page)
    assert evaluations.evaluations(library()) == [] and library().runs.ids() == []


class Waiting:
    """An evaluator that grades as `inner` does, the chunks of the second question only when it is let."""

    def __init__(self, inner, go) -> None:
        self.inner, self.go = inner, go
        self.id, self.calls_models = inner.id, inner.calls_models

    def grade(self, question, passages):
        if "cafeteria" in question:
            assert self.go.wait(60)
        yield from self.inner.grade(question, passages)

    def grade_joint(self, question, passages):
        return self.inner.grade_joint(question, passages)


@pytest.fixture
def held(with_sample, make):
    """An engine that waits in the middle of the second question."""
    go = threading.Event()
    plain = make(AppConfig())
    evaluator = Waiting(plain.evaluator, go)
    program().make = lambda config: local_models.engine(config, evaluator=evaluator)
    yield go
    go.set()


def test_a_run_shows_its_progress_stops_and_goes_on_where_it_was(held, page):
    drop(page, "two.jsonl", TWO)
    strategies(page, "balanced").button(key="eval-run").click().run()
    [job] = program().jobs.running("evaluation")
    until(job, lambda event: isinstance(event, Stepped) and event.progress.row is not None)
    page.run()
    shown = said(page)
    assert "1 of 2 questions" in progress(page) and "none failed" in progress(page) and "Now: Which company" in shown
    assert page.button(key="eval-run").disabled, "no second run"
    assert "1 of 2 questions so far" in said(view(page, "results")), "partial results"
    page.button(key="eval-stop").click().run()
    assert job.stopping
    held.set()
    over(page)
    assert "Stopped: 1 result kept" in said(page)
    [made] = evaluations.evaluations(library())
    assert made.done == 1 and not made.finished_at and "1 of 2 done" in said(page).replace("\\", "")
    page.button(key=f"eval-resume-{made.id}").click().run()
    over(page)
    [made] = evaluations.evaluations(library())
    assert made.done == 2 and made.finished_at and len(library().runs.ids()) == 2


# ---- what must not leave unasked -----------------------------------------------------------------------------------


@pytest.fixture
def asking(with_sample, monkeypatch):
    """A web that queries would leave for, in an app that asks before they do."""
    monkeypatch.setenv("CRAG_ASK_BEFORE_WEB", "true")
    web = FixedWeb(texts=("The cafeteria is run by nobody.",), name="tavily", leaves=True)
    program().make = lambda config: local_models.engine(config, web=web)
    return web


def test_a_query_waits_for_a_word_on_this_page_and_a_no_sends_nothing(asking, page):
    drop(page, "two.jsonl", TWO)
    run(page, "balanced")
    [job] = program().jobs.running("evaluation")
    until(job, lambda event: isinstance(event, Asking))
    page.run()
    assert "May this query leave this machine?" in said(page)
    page.button(key="keep-1").click().run()
    over(page)
    assert asking.queries == [] and "Done" in said(page)


@pytest.fixture
def outside(with_sample, monkeypatch):
    monkeypatch.setenv("CRAG_ASK_BEFORE_WEB", "true")
    monkeypatch.setenv("CRAG_WEB", "duckduckgo")


def test_without_the_web_no_query_is_asked_for_and_the_result_says_so(outside, page):
    drop(page, "two.jsonl", TWO)
    assert "waits for your answer to each query" in said(page) and "up to 2 web searches" in said(page)
    page.button_group(key="eval-queries").set_value("none").run()
    over(run(page, "balanced"))
    [made] = evaluations.evaluations(library())
    assert made.finished_at and made.parts and made.parts.webs == ()


# ---- many rows -----------------------------------------------------------------------------------------------------


def test_many_rows_are_shown_and_filtered(page):
    text = "question,answer\n" + "\n".join(f"question {n}?,yes" for n in range(260))
    id = evaluations.add_set(library(), read_set("many.csv", text.encode()))
    store = library().evaluations
    begun = store.begin(id, "balanced", settings=Settings().model_dump_json(), parts="p", key="k")
    for place in range(1, 261):
        row = ResultRow(question_id=f"row-{place + 1}", question=f"question {place - 1}?", strategy="balanced",
                  answer="no", answer_holds=place % 10 > 0, abstained=False)  # fmt: skip
        store.save_result(begun.id, place, row_to_json(row))
    store.finish(begun.id)
    page.run()
    view(page, "results")
    assert len(page.dataframe[0].value) == 260 and "260 rows" in said(page)
    page.button_group(key=f"eval-filter-{begun.id}").set_value("unsaid").run()
    kept = list(page.dataframe[0].value["Question"])
    assert "question 19?" in kept and "question 20?" not in kept and len(kept) == 26
    page.text_input(key="eval-find").set_value("question 259").run()
    assert len(page.dataframe[0].value) == 1
    page.text_input(key="eval-find").set_value("nothing like it").run()
    assert "No rows match" in said(page)


# ---- where answers are lost ----------------------------------------------------------------------------------------

LOST = b"""{"id": "fehb", "question": "What average premium increase was negotiated for FEHB plan year 2020?", \
"source": "opm-annual-performance-report-2019.pdf", "page": [4]}
{"id": "survey", "question": "How many people answered the employee survey?", \
"source": "opm-annual-performance-report-2019.pdf", "page": [45]}
{"id": "cafeteria", "question": "Which company runs the cafeteria in the headquarters of OPM?", \
"labels": ["unanswerable"]}
"""


def test_a_lost_page_is_in_the_funnel_with_its_reason_and_opens_its_run(with_sample, page):
    drop(page, "lost.jsonl", LOST)
    over(run(page, "balanced"))
    view(page, "results")
    shown = said(page)
    assert "Lost of 2 questions: 1 in the search" in shown and "1 without an answer" in shown
    assert any("1 of 2" in str(chart.proto.spec) for chart in page.get("plotly_chart"))
    losses, rows = (page.dataframe[place].value for place in (0, 1))
    assert list(losses["Question"]) == ["How many people answered the employee survey?"]
    assert "Page 45" in losses["Why"][0] and "was not retrieved" in losses["Why"][0]
    assert [bool(each) for each in rows["Lost"]] == [False, True, False] and losses["Why"][0] in rows["Lost"][1]


def test_two_evaluations_name_the_questions_that_got_worse(with_sample, page):
    drop(page, "two.jsonl", TWO)
    over(run(page, "balanced"))
    (made,) = evaluations.evaluations(library())
    strict = strategy("balanced").settings.changed(lower=0.99999, upper=1.0, aggregation="any")
    list(evaluations.evaluate(program().engine, made.set_id, RunRequest("", "balanced", settings=strict)))
    page.run()
    shown = said(view(page, "pair")).replace(chr(92), "")
    assert "Right answer or page: 0.5 lower with" in shown
    changed = page.dataframe[0].value
    assert list(changed["Question"]) == ["What average premium increase was negotiated for FEHB plan year 2020?"]
    assert "✕ answer no longer says it" in changed["What changed"][0]


def test_a_large_evaluation_is_followed_when_it_is_asked_to(with_sample, page, monkeypatch):
    monkeypatch.setattr(funnel, "AT_ONCE", 1)
    drop(page, "lost.jsonl", LOST)
    over(run(page, "balanced"))
    view(page, "results")
    assert "lost in the search" not in said(page)
    page.button(key="eval-follow").click().run()
    assert not page.exception and "1 in the search" in said(page)
