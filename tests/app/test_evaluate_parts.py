"""The Evaluate page's parts without a page: estimates, progress, names, tables with unknowns, differences, changes."""

from dataclasses import replace

from pydantic import SecretStr

from crag.analysis.evaluate import Evaluation, Progress
from crag.analysis.metrics.metrics import ResultRow
from crag.analysis.metrics.results import compare_results, summed_up
from crag.core.config import AppConfig, Keys
from crag.core.settings import Settings, StoredSettings
from crag.core.strategies import STRATEGIES
from crag.core.types import Action
from crag.pipeline.resolve import ProviderPlan, resolve_providers
from crag.providers.prices import Spent
from tests.support.made import evaluated
from ui.evaluate import table
from ui.evaluate.comparison import changes, sentences
from ui.evaluate.comparison import other_numbers as numbers
from ui.evaluate.comparison import row as difference_row
from ui.evaluate.evaluation_job import Asking, EvaluationStarted, State, Stepped
from ui.evaluate.numbers import names
from ui.evaluate.start import estimate_calls, estimate_sentence

NASTY = "<img src=x onerror=alert(1)>"
LLM = {"llm": "openai", "llm_model": "m", "evaluator": "llm"}


KEYS = Keys(llm=SecretStr("k"), tavily=SecretStr("k"))


def plan(**values) -> ProviderPlan:
    return resolve_providers(AppConfig.of(**values), KEYS)


def row(number: int, **values) -> ResultRow:
    return ResultRow(question_id=str(number), question=f"question {number}?", strategy="balanced", **values)


def column(rows, name="Balanced", spent=None) -> table.Column:
    result = summed_up(rows)
    return table.Column(name=name, parts="p", done=len(rows), questions=len(rows), result=result, cost=spent or Spent())


def evaluation(id="a", strategy="balanced", settings=None, at="2026-11-21T10:00:00+00:00") -> Evaluation:
    stored = StoredSettings(settings or STRATEGIES[strategy].settings)
    return evaluated(id=id, strategy=strategy, stored=stored, started_at=at, finished_at=at)


# ---- estimates -----------------------------------------------------------------------------------------------------


def test_a_model_that_grades_takes_a_call_for_each_chunk_of_each_retrieval():
    settings = Settings(k=10, max_rewrites=1, verify=False, web_on=())
    found = estimate_calls(settings, plan(**LLM), 150)
    assert (found.least, found.most) == (11, 22), "ten grades and an answer; or twice ten, a rewriting and an answer"
    joint = STRATEGIES["joint"].settings.changed(web_on=())
    assert estimate_calls(joint, plan(**LLM), 150).most == 2, "one grade over all, one answer"


def test_searches_count_where_they_leave_this_machine():
    assert "web searches, with the pages they lead to, $0.24 in all" in estimate_sentence(
        [Settings(), Settings()], 15, plan(web="tavily"), 150
    )
    assert "search" not in estimate_sentence([Settings()], 15, plan(web="folder"), 150)


# ---- progress ------------------------------------------------------------------------------------------------------


def heard(done, at, total=4, made=None, strategy="balanced", earlier=()):
    progress = Progress(evaluation="e", strategy=strategy, done=done, total=total, row=made)
    return Stepped(progress=progress, at=at, earlier=earlier)


def test_progress_counts_all_strategies_failures_and_what_is_left():
    started = EvaluationStarted(set_id="s", strategies=("balanced", "paper"), provider="off", at=10.0)
    state = State([started])
    assert (state.total, state.rate, state.left) == (0, None, None)
    state = State([started, heard(2, 10.0, earlier=(row(1), row(2))), heard(3, 12.0, made=row(3, problem="no"))])
    assert (state.done, state.total, state.made, state.failed) == (3, 8, 1, 1)
    assert state.rate == 0.5 and state.left == 10.0
    assert len(state.parts[0].rows) == 3
    state = State([started, heard(4, 10.0), heard(0, 11.0, strategy="paper"), Asking(query="q")])
    assert state.total == 8 and [part.strategy for part in state.parts] == ["balanced", "paper"]
    assert state.queries == ["q"]


# ---- names ---------------------------------------------------------------------------------------------------------


def test_evaluations_that_would_be_called_alike_are_told_apart():
    changed = STRATEGIES["balanced"].settings.changed(upper=0.9)
    found = names(
        [
            evaluation("a"),
            evaluation("b", at="2026-11-21T11:00:00+00:00"),
            evaluation("c", settings=changed),
            evaluation("d", strategy="paper"),
            evaluation("e", strategy="gone", settings=Settings()),
            evaluation("f", strategy="paper", settings=changed),
        ],
        lambda strategy, settings: "Mine" if (strategy, settings) == ("paper", changed) else strategy,
    )
    assert found.pop("f") == "Mine"
    assert found["c"] == "Balanced (upper threshold 0.9)" and found["d"] == "Paper" and found["e"] == "gone"
    assert len(set(found.values())) == 5 and "10:00" in found["a"] and "11:00" in found["b"]


# ---- tables --------------------------------------------------------------------------------------------------------


def cells(rows, head="● Balanced"):
    """What a column of a table of measures says, by measure."""
    return {row["Measure"]: row[head] for row in rows}


def test_every_measure_of_the_library_is_in_one_of_the_tables():
    shown = [key for group in table.GROUPS.values() for key in group]
    from crag.analysis.metrics.results import MEASURES

    assert set(shown) <= set(MEASURES) and len(set(shown)) == len(shown)
    assert {*shown, *table.REST} == set(MEASURES)
    assert set(table.SHARES) <= set(shown)


def test_names_of_strategies_build_nothing():
    held = column([row(1, action=Action.CORRECT, acted_holds=True, answer_holds=True)], name=NASTY)
    [head] = {head for row in table.measures([held]) for head in row} - {"Measure"}
    assert "\\<img" in head and "<img" not in head.replace("\\<img", "")


def test_a_measure_that_no_strategy_knows_is_named_below_the_table_instead():
    known, other = column([row(1, answer_holds=True)]), column([row(1)], name="Other")
    said, missing = cells(table.measures([known, other])), table.unmeasured([known, other])
    assert said["Answer says it"].startswith("**1.00**") and "Recall" in missing
    assert not set(missing) & set(said) and "**Retrieval**" not in said and "Answer says it" not in missing
    assert "Answer says it" in table.unmeasured([other])


def test_the_confusion_counts_actions_against_what_was_retrieved():
    rows = [row(1, action=Action.CORRECT, acted_holds=True), row(2, action=Action.INCORRECT, acted_holds=True)]
    said = {each["Action"]: list(each.values())[1:] for each in table.confusion(column(rows))}
    assert said["● CORRECT"] == ["✓ 1", "0", "0"] and said["○ INCORRECT"] == ["✕ 1", "0", "0"]
    assert "– no action" not in said
    [plain] = table.confusion(column([row(1, acted_holds=True)]))
    assert list(plain.values()) == ["– no action", "1", "0", "0"]


def test_an_unknown_price_is_no_cost_of_zero():
    rows = [row(1)]
    assert "no price known" in cells(table.measures([column(rows, spent=Spent(calls=3, unpriced=3))]))["Cost"]
    least = cells(table.measures([column(rows, spent=Spent(calls=3, dollars=0.5, unpriced=1))]))["Cost"]
    assert least.replace("\\", "").startswith("**at least $0.50**")
    assert "no calls" in cells(table.measures([column(rows)]))["Cost"]


# ---- two results ---------------------------------------------------------------------------------------------------


def test_differences_are_shown_in_numbers_and_said_in_sentences():
    first = [row(n, answer_holds=False, seconds=1.0, acted_recall=1.0) for n in range(25)]
    second = [row(n, answer_holds=True, seconds=2.0, acted_recall=1.0) for n in range(25)]
    found = compare_results(first, second, names=("A", NASTY))
    rows = {each["Measure"]: each for each in numbers(found, ("A", NASTY))}
    assert rows["Answer says it"]["Difference"] == "**+1.00**" and rows["Recall"]["Difference"] == "0.00"
    assert "Seconds" not in rows and not [head for head in rows["Recall"] if head.startswith("<img")]
    said = sentences(found, ("A", NASTY)).replace("*", "").replace("\\", "")
    assert "2 of 9 measures differ" in said and "1 higher with" in said


def test_the_questions_that_changed_are_told_with_what_changed():
    first = [
        row(1, state="answered", answer_holds=True),
        row(2, state="answered", answer_holds=True, evidence_answer=False),
        row(3, answer_holds=None),
        row(4, problem="broken"),
    ]
    second = [
        row(1, state="answered", answer_holds=True),
        row(2, state="check", answer_holds=False, evidence_answer=True),
        row(3, answer_holds=True),
        row(4),
        row(5),
    ]
    found = changes(first, second)
    assert [change.first.question_id for change in found] == ["2", "4"], "what one of them does not know did not change"
    assert dict(found[0].what) == {
        "answer no longer says it": False,
        "evidence now holds it": True,
        "Answered → Check this": None,
    }
    assert dict(found[1].what) == {"no longer fails": True}
    assert difference_row(found[1], ("A", "B"))["What changed"] == "✓ no longer fails"
    assert difference_row(found[1], ("A", "B"))["A"] == "Failed: broken"


def test_what_got_worse_comes_first() -> None:
    first = [row(1, answer_holds=False), row(2, answer_holds=True), row(3, evidence_answer=True), row(4)]
    second = [row(1, answer_holds=True), row(2, answer_holds=False), row(3, evidence_answer=False), row(4)]
    found = changes(first, second)
    assert [change.first.question_id for change in found] == ["2", "1", "3"]
    assert [(each.has(False), each.has(True)) for each in found] == [(True, False), (False, True), (True, False)]
    assert "✕ answer no longer says it" in difference_row(found[0], ("A", "B"))["What changed"]


def test_the_same_answer_is_never_called_another_one():
    first = row(1, answer="In 280 BC [1].", answer_holds=True, abstention_right=True, abstained=False,
                evidence_answer=True, state="web")  # fmt: skip
    evidence = replace(first, answer="In 280 BC [2].", evidence_answer=False, abstention_right=False)
    label = replace(first, answer_holds=False)
    state = replace(first, state="check")
    found = [changes([first], [other]) for other in (first, evidence, label, state)]
    assert [[change.what for change in each] for each in found] == [
        [],
        [(("evidence no longer holds it", False),)],
        [(("same answer, judged by another label", None),)],
        [(("From the web → Check this", None),)],
    ]
    other = replace(evidence, answer="Nobody knows.")
    assert ("now wrongly answered or not found", False) in changes([first], [other])[0].what
