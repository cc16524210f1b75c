"""The Tune page: empty, with runs, under its sliders, with labels, with runs that can't be read; never a model call."""

import gc
import sqlite3
from dataclasses import replace

import numpy as np
import pytest

from crag.analysis.evaluate import add_set
from crag.analysis.questions.sets import Question, QuestionSet
from crag.analysis.whatif.entries import Entry, Missing, Outcome, Retrieval, Unknown
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.engine import Engine
from crag.evaluation.refinement import make_strip
from crag.messages.tuning import unknown_sentence
from crag.text.spreadsheets import csv_export
from tests.support.app_text import said, select, visit
from tests.support.tab_states import state_in
from tests.support.tune_runs import run
from ui.app import warmup
from ui.app.program import program
from ui.app.tab import ChoicesState, RunsState
from ui.tune import exports, stored
from ui.tune.sliders import TuneState


class Silent:
    """Parts of an engine that refuse to work; only the warm-up is let pass."""

    id = name = by = "silent"
    dimension, calls_models, leaves, problems = 3, False, False, ()

    def __init__(self):
        self.asked = []

    def _refuse(self, texts):
        self.asked += [text for text in texts if text != warmup._WORDS]
        if self.asked:
            raise AssertionError(f"a model was asked: {self.asked}")

    def embed(self, texts):
        self._refuse(texts)
        return np.zeros((len(texts), 3), np.float32)

    def grade(self, question, passages):
        self._refuse([passage.text for passage in passages])
        return iter(())

    def grade_joint(self, question, passages):
        self._refuse([passage.text for passage in passages])

    def search(self, query, max_results):
        self._refuse([query])

    def answer(self, *args, **more):
        self._refuse(["an answer"])


@pytest.fixture
def silent():
    """The app's engine is made of parts that refuse to work."""
    part = Silent()
    program().make = lambda config: Engine(
        config, embedder=part, evaluator=part, web=part, generator=part, rewriter=part
    )
    yield part
    assert not part.asked


FOLDS = ("tune-more", "tune-unknown", "tune-curves", "tune-export")


@pytest.fixture
def tab():
    """The Tune page with all its folds open, or as it comes; call it to have runs stored before."""

    def opened(*traces, folded=False):
        for trace in traces:
            program().engine.library().runs.save(trace, [])
        app = visit("tune")
        if not folded:
            for each in FOLDS:
                app.session_state[each] = True
            app.run()
        return app

    return opened


def lines(tab):
    return tuple(state_in(tab, TuneState).now[line] for line in ("lower", "upper"))


def drag(tab, lower, upper):
    """The rail's lines, let go there."""
    state_in(tab, TuneState).now.update(lower=lower, upper=upper)
    assert not tab.run().exception


def slider(tab, label):
    return next(each for each in tab.slider if each.label == label)


def moved(tab, label, value):
    slider(tab, label).set_value(value).run()
    assert not tab.exception
    return said(tab)


def labelled(count=40, both=True):
    """Runs of which the even ones are answered on page 1, which scores high, and a set that says so.

    `both`: else it says only that the others are not answered, and all labels are of one kind.
    """
    runs = [run(n, [0.9, 0.05] if n % 2 == 0 else [0.04, 0.02]) for n in range(count)]
    known = {"sources": ("report.pdf",), "pages": (1,)}
    questions = [
        Question(id=str(n), question=each.question.upper(), **(known if n % 2 == 0 else {"labels": ("unanswerable",)}))
        for n, each in enumerate(runs)
        if both or n % 2
    ]
    add_set(program().engine.library(), QuestionSet(name="known", questions=tuple(questions)))
    return runs


def cell(page, was, becomes):
    """How many runs were one thing and would be another."""
    table = page.dataframe[0].value.set_index("Was")
    return int(table[becomes][was])


# ---- runs ------------------------------------------------------------------------------------------------------------


def test_without_runs_it_says_what_to_do(tab):
    page = tab()
    assert "No runs yet" in said(page) and not page.slider
    assert page.button(key="tune-to-ask") and page.button(key="tune-to-evaluate")


def test_a_moved_threshold_flips_runs_at_once_without_any_model(silent, tab):
    page = tab(run(1, [0.9, 0.1]), run(2, [0.5, 0.1]), run(3, [0.3, 0.1]))
    assert cell(page, "CORRECT", "CORRECT") == 2 and "Ask uses these" in said(page)
    drag(page, 0.2, 0.6)
    assert cell(page, "CORRECT", "AMBIGUOUS") == 1 and "Ask does not use these yet" in said(page)
    moved(page, "Chunks retrieved", 1)
    moved(page, "Strip filter", 0.5)
    page.selectbox(key=page.selectbox[-1].key).set_value(page.selectbox[-1].options[1]).run()
    assert not page.exception and len(program().engine.library().runs.ids()) == 3


def test_the_margin_of_doubt_and_the_words_kept_are_moved_here_too(silent, tab):
    good, poor = run(1, [0.9], strategy="paper"), run(2, [0.05], strategy="paper")
    chunk = good.rounds[0].chunks[0].chunk.id
    cut = [make_strip(chunk, "One two three. " * 4, "internal", at, at + 14, 0.9, kept=True) for at in (0, 15, 30)]
    page = tab(replace(good, strips={chunk: tuple(cut)}), poor)
    page.selectbox(key="tune-strategy").set_value("paper").run()
    assert cell(page, "INCORRECT", "INCORRECT") == 1 and "<b>3 → 3</b>" in said(page)
    moved(page, "Margin of doubt", 0.02)
    assert cell(page, "INCORRECT", "AMBIGUOUS") == 1
    assert "<b>3 → 1</b>" in moved(page, "Words kept", 5)
    moved(page, "Words kept", 0)
    assert "<b>3 → 0</b>" in moved(page, "Strip filter", 0.95)
    page.button(key="tune-use-these").click().run()
    assert state_in(page, ChoicesState).changes["paper"] == {"strip_filter": 0.95, "ambiguity_margin": 0.02}


def test_a_cell_lists_its_questions_each_a_link_to_its_run(silent, tab):
    page = tab(run(1, [0.9], question="Who <b>left</b>?"), run(2, [0.5]))
    drag(page, 0.2, 0.95)
    select(page, "tune-cell", 0, "AMBIGUOUS")
    assert list(page.dataframe[1].value["Question"]) == ["Why did it happen in 2?", "Who <b>left</b>?"]
    select(page, "tune-listed-CORRECT-AMBIGUOUS", 0, "Question")
    assert state_in(page, RunsState).selected == "run-2"


def test_what_only_a_run_could_tell_is_unknown_with_its_reason(silent, tab):
    page = tab(run(1, [0.9]), run(2, [0.9], strategy="plain-rag"))
    assert cell(page, "no action", "unknown") == 1 and unknown_sentence(Unknown(Missing.NO_GRADES)) in said(page)
    words = moved(page, "Chunks retrieved", 20)
    assert "Of <b>2</b> only a new run can tell" not in words, "a library of one chunk has no more"
    page = tab(run(3, [0.9] * 10))
    words = moved(page, "Chunks retrieved", 20)
    assert unknown_sentence(Unknown(Missing.NOT_RETRIEVED, 10)) in words


def test_new_runs_join_deleted_ones_leave_and_none_is_read_twice(silent, tab):
    page = tab(run(1, [0.9], question="Who is to be forgotten?"), run(2, [0.5]))
    library, book = program().engine.library(), stored.runs_of("default")
    assert set(book.runs) == {"run-1", "run-2"} and list(book.refresh(library, {})) == []
    kept = book.runs["run-2"]
    library.runs.delete("run-1")
    library.runs.save(run(3, [0.1]), [])
    page.run()
    assert "All (2 runs)" in page.selectbox(key="tune-runs").options
    assert set(book.runs) == {"run-2", "run-3"} and book.runs["run-2"] is kept
    gc.collect()
    assert not [each for each in gc.get_objects() if isinstance(each, Entry | Retrieval) and "forgotten" in repr(each)]


def test_a_run_that_cannot_be_read_is_named_and_the_others_go_on(silent, tab, data):
    page = tab(run(1, [0.9]), run(2, [0.5], question="An <i>older</i> one?"))
    program().engine.close()
    [file] = data.glob("workspaces/default/*.db")
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE runs SET trace = '{\"steps\": 7}' WHERE id = 'run-2'")
    stored.runs_of.clear()
    page.run()
    assert not page.exception and "1 run can&#x27;t be read" in said(page).replace("can't", "can&#x27;t")
    assert "An <i>older</i> one" in said(page) and "All (1 run)" in page.selectbox(key="tune-runs").options


def test_runs_are_chosen_by_evaluation(silent, tab):
    library = program().engine.library()
    known = Question(id="1", question="Why did it happen in 1?", labels=("unanswerable",))
    set_id = add_set(library, QuestionSet(name="mine", questions=(known,)))
    made = library.evaluations.begin(set_id, "balanced", settings=Settings().model_dump_json(), parts="", key="k")
    page = tab(run(1, [0.9]), replace(run(2, [0.9]), run_id=f"{made.id}-0"))
    page.selectbox(key="tune-runs").set_value(f"evaluation:{made.id}").run()
    assert cell(page, "CORRECT", "CORRECT") == 1 and "Evaluated: mine, Balanced" in str(
        page.selectbox(key="tune-runs").options
    )


def test_the_strategy_decides_what_the_sliders_begin_with_and_which_there_are(silent, tab):
    page = tab(run(1, [0.9]))
    page.selectbox(key="tune-strategy").set_value("paper").run()
    assert lines(page) == (0.07, 0.76)
    page.selectbox(key="tune-strategy").set_value("binary-any").run()
    assert lines(page)[0] == lines(page)[1] and "no pair to recommend" in said(page)
    page.selectbox(key="tune-strategy").set_value("joint").run()
    assert lines(page) == (0.5, 0.9)
    page.selectbox(key="tune-strategy").set_value("plain-rag").run()
    assert [each.label for each in page.slider] == ["Chunks retrieved"] and "grades nothing" in said(page)


def test_sliders_stay_where_they_were_while_another_page_is_shown(silent, tab):
    page = tab(run(1, [0.9]))
    drag(page, 0.1, 0.95)
    moved(page, "Chunks retrieved", 4)
    page.switch_page("pages/settings.py").run()
    page.switch_page("pages/tune.py").run()
    assert lines(page) == (0.1, 0.95) and "Chunks retrieved" not in {s.label for s in page.slider}
    page.session_state["tune-more"] = True
    page.run()
    assert slider(page, "Chunks retrieved").value == 4
    assert cell(page, "CORRECT", "AMBIGUOUS") == 1
    page.button(key="tune-own").click().run()
    own = Settings()
    assert lines(page) == (own.lower, own.upper) and slider(page, "Chunks retrieved").value == own.k


# ---- what it saves ---------------------------------------------------------------------------------------------------


def named(page, typed, button):
    """Type a name, and press a button of the popover that it stands in."""
    [field] = [each for each in page.text_input if each.label == "Name"]
    field.set_value(typed).run()
    page.button(key=button).click().run()
    assert not page.exception
    return page


def test_a_saved_configuration_is_chosen_renamed_deleted_and_brought_back(tab):
    page = tab(run(1, [0.9, 0.1]), run(2, [0.5, 0.1]))
    drag(page, 0.25, 0.66)
    page = named(page, "My pair", "tune-save")
    saved = program().engine.library().configurations
    assert "Saved as My pair." in said(page) and page.selectbox(key="tune-strategy").value == "My pair"
    assert lines(page) == (0.25, 0.66) and state_in(page, ChoicesState).changes == {}, "Ask has not changed"
    page.button(key="tune-use-these").click().run()
    page = named(page, "Ours", "tune-rename")
    assert [*saved.all()] == ["Ours"] and state_in(page, ChoicesState).strategy == "Ours"
    page.switch_page("pages/ask.py").run()
    assert page.selectbox(key="strategy-choice").value == "Ours"
    assert any("upper threshold 0\\.66" in each.value for each in page.caption)
    page.switch_page("pages/tune.py").run()
    drag(page, 0.3, 0.5)
    page = named(page, "ours", "tune-save")
    assert [(each.name, each.settings.upper) for each in saved.all().values()] == [("ours", 0.5)]
    page.button(key="tune-delete").click().run()
    assert saved.all() == {} and page.selectbox(key="tune-strategy").value == "balanced"
    assert state_in(page, ChoicesState).strategy == "balanced"
    [undo] = [each for each in page.button if each.label == "Undo"]
    undo.click().run()
    assert saved.all()["ours"].settings.lower == 0.3 and not page.exception


@pytest.mark.parametrize("name", ["  ", "Balanced", "=x" * 31])
def test_what_can_be_no_name_is_said_and_the_sliders_stay(tab, name):
    page = tab(run(1, [0.9, 0.1]))
    drag(page, 0.25, 0.66)
    page = named(page, name[:60], "tune-save")
    saved = program().engine.library().configurations.all()
    assert lines(page) == (0.25, 0.66) and ([*saved] == [name[:60]] if name[0] == "=" else not saved and page.toast)


# ---- labels ----------------------------------------------------------------------------------------------------------


def test_labels_recommend_a_pair_which_one_click_puts_on_the_sliders(silent, tab):
    page = tab(*labelled())
    words = said(page)
    assert "Recommended pair" in words and "40 runs known from question sets" in words
    assert len(page.get("plotly_chart")) == 3 and "average precision 1.00" in words
    before = lines(page)
    page.button(key="tune-recommended").click().run()
    low, high = lines(page)
    assert (low, high) != before and 0.05 <= low <= high <= 0.9 and page.button(key="tune-recommended").disabled
    assert state_in(page, ChoicesState).changes == {}, "Ask has not changed"
    page.button(key="tune-use-these").click().run()
    assert state_in(page, ChoicesState).changes == {"balanced": {"upper": high, "lower": low}}
    assert "Ask now uses exactly these" in said(page) and page.button(key="tune-use-these").disabled


def test_what_is_folded_is_not_drawn_before_it_is_opened(silent, tab):
    page = tab(*labelled(), folded=True)
    assert "How far the scores can be trusted" in said(page) and "average precision" not in said(page)
    assert len(page.get("plotly_chart")) == 1 and not page.get("link_button")
    page.session_state["tune-curves"] = page.session_state["tune-export"] = True
    page.run()
    assert len(page.get("plotly_chart")) == 3 and len(page.get("link_button")) == 4 and not page.exception


def test_sliders_and_weights_hold_while_their_folds_are_closed(silent, tab):
    page = tab(*labelled())
    slider(page, "Chunks retrieved").set_value(1).run()
    page.session_state["tune-weights"] = True
    page.run()
    page.number_input(key="tune-weight-right").set_value(3.0).run()
    worth = [line for line in said(page).splitlines() if "This is worth" in line]
    page.session_state["tune-weights"] = page.session_state["tune-more"] = False
    page.run()
    assert state_in(page, TuneState).now["k"] == 1 and "Chunks retrieved" not in {each.label for each in page.slider}
    assert worth and worth == [line for line in said(page).splitlines() if "This is worth" in line]
    page.session_state["tune-weights"] = page.session_state["tune-more"] = True
    page.run()
    assert slider(page, "Chunks retrieved").value == 1 and page.number_input(key="tune-weight-right").value == 3.0


def test_too_few_labels_are_refused_in_words(silent, tab):
    words = said(tab(*labelled(6)))
    assert "30 labelled questions with a score are needed" in words and "3 and 3" in words


def test_scores_of_two_evaluators_are_never_thrown_together(silent, tab):
    page = tab(*labelled(), *(run(n, [0.5], evaluator="other") for n in range(100, 103)))
    assert page.selectbox(key="tune-grader").options == ["the local evaluator", "other"]
    page.selectbox(key="tune-grader").set_value("other").run()
    assert "0 and 0" in said(page)


# ---- files -----------------------------------------------------------------------------------------------------------


def test_the_export_names_every_run_and_runs_no_formula():
    entries = {"run-1": Entry.of(run(1, [0.9], question='=HYPERLINK("x")'))}
    outcome: Outcome = stored.StoredDecisions(entries.values()).redecide(Settings(upper=0.95))
    _, _, make = exports.runs(outcome, entries)
    lines = csv_export(*make()).decode("utf-8-sig").splitlines()
    assert len(lines) == 2 and "'=HYPERLINK" in lines[1] and "CORRECT,AMBIGUOUS" in lines[1]


def test_an_empty_trace_is_a_run_like_any_other(silent, tab):
    page = tab(Trace(run_id="odd", question="q", strategy="gone", settings={}, finished=True))
    assert unknown_sentence(Unknown(Missing.NO_ROUND)) in said(page) and "None of these runs was graded" in said(page)


def test_runs_are_chosen_by_strategy(silent, tab):
    page = tab(run(1, [0.9]), run(2, [0.5], strategy="paper"), run(3, [0.5], strategy="paper"))
    page.selectbox(key="tune-runs").set_value("strategy:paper").run()
    assert cell(page, "AMBIGUOUS", "CORRECT") == 2
    page.switch_page("pages/settings.py").run()
    page.switch_page("pages/tune.py").run()
    assert page.selectbox(key="tune-runs").value == "strategy:paper"
