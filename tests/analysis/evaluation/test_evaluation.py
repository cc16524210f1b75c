"""Evaluations in one process: stored as they go, stopped, resumed, several strategies, and what fails."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from crag.analysis.evaluate import (
    FAILURES_IN_A_ROW,
    Progress,
    add_set,
    evaluate,
    evaluations,
    question_set,
    rows,
    spending,
)
from crag.analysis.questions.sets import read_set
from crag.core.config import AppConfig
from crag.core.errors import (
    CragError,
    EmptyLibraryError,
    ModelMismatchError,
    NotFoundError,
    ProviderError,
    SettingsError,
    StorageError,
)
from crag.core.protocols import RunRequest
from crag.core.strategies import strategy
from crag.core.trace import Trace
from crag.core.types import Action, Call
from crag.engine import Engine
from crag.messages.providers import cost_text
from crag.providers.prices import table
from crag.providers.registry import given_keys
from crag.testing.fakes import FixedWeb, ScriptedEvaluator
from tests.support.evaluation_makers import filled_engine, instant_engine, questions_for, stored_set
from tests.support.failing_servers import nobody
from tests.support.library_makers import HashEmbedder
from tests.support.small_library import engine_with_texts, spread


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = filled_engine(tmp_path)
    yield made
    made.close()


def asked(engine: Engine) -> list[str]:
    """The questions of all stored runs."""
    return [run.question for run in reversed(engine.library().runs.latest(1000, every=True))]


# Evaluating


def test_every_question_is_measured_in_order_and_its_run_is_in_the_history(engine: Engine) -> None:
    id = stored_set(engine, 3)
    events = list(evaluate(engine, id, RunRequest("", "balanced")))
    start, *results = events
    assert (start.row, start.done, start.total) == (None, 0, 3)
    assert [event.done for event in results] == [1, 2, 3]
    (made,) = evaluations(engine.library())
    assert {(event.evaluation, event.strategy, event.total) for event in events} == {(made.id, "balanced", 3)}
    assert (made.set_id, made.set_name, made.questions, made.done) == (id, "made.csv", 3, 3)
    assert made.settings == strategy("balanced").settings
    assert made.started_at <= made.finished_at
    found = rows(engine.library(), made.id)
    assert found == tuple(event.row for event in results)
    assert [row.question_id for row in found] == ["q1", "q2", "q3"]
    assert all(row.answer_holds and row.judged_by == "page" for row in found)
    for row in found:
        trace = engine.library().runs.trace(row.run_id)
        assert (trace.question, trace.strategy) == (row.question, "balanced")


def test_the_parts_are_named_without_address_and_key(engine: Engine, tmp_path: Path) -> None:
    id, cancel = stored_set(engine, 1), threading.Event()
    pages = tmp_path / "deep" / "pages"
    pages.mkdir(parents=True)
    config = AppConfig.of(data=tmp_path, web="tavily", web_fallback="folder", web_folder=pages, writer="llm")
    config = config.changed(llm="openai-compatible", llm_model="small", llm_base_url="http://127.0.0.1:9/secret/v1")
    keys = given_keys({"TAVILY_API_KEY": "tvly-very-secret"})
    cancel.set()
    list(evaluate(engine, id, RunRequest("", "balanced", config=config, keys=keys, cancel=cancel)))
    parts = evaluations(engine.library())[0].parts
    assert parts is not None and parts.writer == "openai-compatible:small@127.0.0.1:9"
    assert (parts.documents, parts.embedder, parts.grader) == (1, "words-test-1", "scripted")
    assert (parts.webs, parts.version) == (("tavily", "folder pages"), engine.library().documents.content_hash())
    assert "secret" not in repr(parts) and str(tmp_path) not in repr(parts)


# Stopping and going on


class StopsAt(ScriptedEvaluator):
    """Presses Stop while it grades the question that holds `word`."""

    def __init__(self, word: str, cancel: threading.Event) -> None:
        super().__init__(score=spread)
        self.word, self.cancel = word, cancel

    def grade(self, question, passages):  # type: ignore[no-untyped-def]
        for grade in super().grade(question, passages):
            if self.word in question:
                self.cancel.set()
            yield grade


def test_a_run_that_is_stopped_in_the_middle_is_no_result_and_is_asked_again(tmp_path: Path) -> None:
    cancel = threading.Event()
    with engine_with_texts(AppConfig.of(data=tmp_path), evaluator=StopsAt("case 2", cancel)) as engine:
        id = stored_set(engine, 3)
        list(evaluate(engine, id, RunRequest("", "balanced", cancel=cancel)))
        (broken,) = evaluations(engine.library())
        assert broken.done == 1
        stopped = engine.library().runs.trace(f"{broken.id}-2")
        assert stopped.cancelled
        cancel.clear()
        list(evaluate(engine, id, RunRequest("", "balanced")))
        assert not engine.library().runs.trace(f"{broken.id}-2").cancelled
        assert len(engine.library().runs.ids()) == 3
        assert [row.problem for row in rows(engine.library(), broken.id)] == ["", "", ""]


def test_a_run_stored_without_its_result_is_measured_and_not_asked_again(engine: Engine) -> None:
    id = stored_set(engine, 2)
    events = evaluate(engine, id, RunRequest("", "balanced"))
    begun = next(events)
    events.close()
    run_id = f"{begun.evaluation}-1"
    list(engine.ask(RunRequest(questions_for(2).questions[0].question, "balanced", run_id=run_id)))
    before = engine.library().runs.trace(run_id)
    list(evaluate(engine, id, RunRequest("", "balanced")))
    assert engine.library().runs.trace(run_id) == before
    assert [row.run_id for row in rows(engine.library(), begun.evaluation)] == [run_id, f"{begun.evaluation}-2"]


def begun_and_left(
    engine: Engine, id: str, *, restart: bool = False, finished_too: bool = False, **given: object
) -> Progress:
    request = RunRequest("", "balanced", **given)  # type: ignore[arg-type]
    events = evaluate(engine, id, request, restart=restart, finished_too=finished_too)
    first = next(events)
    events.close()  # type: ignore[attr-defined]
    return first


def test_an_evaluation_is_gone_on_with_only_where_everything_is_the_same(engine: Engine) -> None:
    id = stored_set(engine, 2)
    first = begun_and_left(engine, id)
    assert begun_and_left(engine, id).evaluation == first.evaluation
    others = [
        begun_and_left(engine, id, settings=strategy("balanced").settings.changed(k=3)),
        begun_and_left(engine, stored_set(engine, 3)),
        begun_and_left(engine, id, restart=True),
    ]
    assert len({first.evaluation, *(each.evaluation for each in others)}) == 4


def test_a_finished_evaluation_is_told_of_instead_of_repeated_where_that_is_wanted(engine: Engine) -> None:
    id = stored_set(engine, 2)
    first = list(evaluate(engine, id, RunRequest("", "balanced"), finished_too=True))
    assert [event.done for event in first] == [0, 1, 2]
    (told,) = evaluate(engine, id, RunRequest("", "balanced"), finished_too=True)
    assert (told.evaluation, told.done, told.row) == (first[0].evaluation, 2, None)
    unfinished = begun_and_left(engine, id)
    assert unfinished.evaluation != first[0].evaluation, "else it is asked again"
    assert begun_and_left(engine, id, finished_too=True) == unfinished, "the latest is gone on with"
    assert begun_and_left(engine, id, finished_too=True, restart=True).evaluation != unfinished.evaluation


# What fails


def test_what_cannot_be_evaluated_is_refused_before_any_question(engine: Engine, tmp_path: Path) -> None:
    id = stored_set(engine, 1)
    with pytest.raises(NotFoundError):
        evaluate(engine, "gone", RunRequest("", "balanced"))
    with pytest.raises(SettingsError, match="plain-rag"):
        evaluate(engine, id, RunRequest("", "magic"))
    for config, says in [
        (AppConfig.of(data=tmp_path, llm="openai", llm_model="m"), "key"),
        (AppConfig.of(data=tmp_path, evaluator="llm"), "language model"),
        (AppConfig.of(data=tmp_path, evaluator="reranker"), "address"),
        (AppConfig.of(data=tmp_path, web="tavily"), "Tavily"),
    ]:
        with pytest.raises(ProviderError, match=says):
            evaluate(engine, id, RunRequest("", "balanced", config=config))
    assert evaluations(engine.library()) == []
    assert (
        next(
            iter(evaluate(engine, id, RunRequest("", "plain-rag", config=AppConfig.of(data=tmp_path, web="tavily"))))
        ).done
        == 0
    )


def test_an_empty_library_and_vectors_of_another_model_are_refused(tmp_path: Path) -> None:
    empty = instant_engine(tmp_path / "empty")
    with pytest.raises(EmptyLibraryError):
        evaluate(empty, stored_set(empty, 1), RunRequest("", "balanced"))
    empty.close()
    engine = filled_engine(tmp_path / "full")
    id = stored_set(engine, 1)
    engine.close()
    other = Engine(AppConfig.of(data=tmp_path / "full"), embedder=HashEmbedder())
    with other, pytest.raises(ModelMismatchError):
        evaluate(other, id, RunRequest("", "balanced"))


class FailsOn:
    """A writer that fails on some questions, in the way told."""

    by = "failing"

    def __init__(self, messages: dict[str, str]) -> None:
        self.messages, self.asked = messages, []

    def answer(self, question, knowledge, sources, settings):  # type: ignore[no-untyped-def]
        from tests.support.evaluation_makers import FixedAnswer

        self.asked.append(question)
        said = next((said for word, said in self.messages.items() if question.endswith(f"case {word}?")), None)
        if said is not None:
            raise ProviderError(said, "Plug it in.")
        yield from FixedAnswer().answer(question, knowledge, sources, settings)


def failing(folder: Path, messages: dict[str, str]) -> Engine:
    return engine_with_texts(AppConfig.of(data=folder), generator=FailsOn(messages))


def test_failed_runs_are_rows_and_the_others_go_on(tmp_path: Path) -> None:
    """Few in a row, or each in another way, stop nothing."""
    messages = {str(number): "The plug is out." for number in (2, 3, 4, 5)}
    messages |= {str(number): f"It failed in way {number}." for number in range(6, 12)}
    engine = failing(tmp_path, messages)
    list(evaluate(engine, stored_set(engine, 12), RunRequest("", "balanced")))
    (made,) = evaluations(engine.library())
    found = rows(engine.library(), made.id)
    assert made.finished_at
    assert [row.problem for row in found[:3]] == ["", "The plug is out.", "The plug is out."]
    assert sum(bool(row.problem) for row in found) == 10
    assert engine.library().runs.trace(found[1].run_id).failure is not None
    engine.close()


@pytest.mark.slow
def test_too_many_alike_stop_it_and_are_asked_again_later(tmp_path: Path) -> None:
    engine = failing(tmp_path, {str(number): "The plug is out." for number in range(3, 20)})
    id = stored_set(engine, 20)
    with pytest.raises(CragError, match=r"5 questions in a row .*The plug is out") as stopped:
        list(evaluate(engine, id, RunRequest("", "balanced")))
    assert stopped.value.remedy.startswith("Plug it in. Then evaluate again")
    (broken,) = evaluations(engine.library())
    assert (broken.done, broken.finished_at) == (2, "")
    assert len(engine.generator.asked) == 2 + FAILURES_IN_A_ROW  # type: ignore[attr-defined]
    engine.generator.messages = {}  # type: ignore[attr-defined]
    assert [event.done for event in evaluate(engine, id, RunRequest("", "balanced"))] == list(range(2, 21))
    (done,) = evaluations(engine.library())
    assert done.id == broken.id and done.finished_at
    assert not any(row.problem for row in rows(engine.library(), done.id))
    assert len(engine.library().runs.ids()) == 20
    engine.close()


def test_queries_that_a_person_does_not_approve_stop_nothing(tmp_path: Path) -> None:
    web = FixedWeb(leaves=True)
    config = AppConfig.of(data=tmp_path, ask_before_web=True)
    with engine_with_texts(config, lambda text: 0.0, web=web) as engine:
        list(evaluate(engine, stored_set(engine, 9), RunRequest("", "balanced", allowed=lambda query: False)))
        (made,) = evaluations(engine.library())
        assert (made.done, web.queries) == (9, [])


def test_a_model_server_that_is_gone_stops_it(tmp_path: Path) -> None:
    """The local parts step in, and so no run fails; but what was to be measured is the model."""
    engine = filled_engine(tmp_path)
    with nobody() as address, pytest.raises(CragError, match="can't be reached"):
        config = AppConfig.of(data=tmp_path, evaluator="reranker", rerank_base_url=address, rerank_model="m")
        list(evaluate(engine, stored_set(engine, 9), RunRequest("", "balanced", config=config)))
    assert evaluations(engine.library())[0].done == 0
    engine.close()


# What is deleted, what is old


def test_an_evaluation_removed_while_it_runs_ends_with_a_word(engine: Engine) -> None:
    events = evaluate(engine, stored_set(engine, 3), RunRequest("", "balanced"))
    first = next(events)
    engine.library().evaluations.delete(first.evaluation)
    with pytest.raises(NotFoundError, match=first.evaluation):
        next(events)


def test_results_and_settings_of_another_version_are_told_and_hide_no_others(engine: Engine) -> None:
    id = stored_set(engine, 3)
    list(evaluate(engine, id, RunRequest("", "balanced")))
    with closing(sqlite3.connect(engine.library().folder / "library.db")) as connection, connection:
        connection.execute(
            "UPDATE results SET row = json_set(row, '$.action', 'MAYBE', '$.new_field', 1) WHERE place = 2"
        )
        connection.execute("UPDATE results SET row = json_set(row, '$.new_field', 1) WHERE place = 3")
        connection.execute("UPDATE evaluations SET settings = json_set(settings, '$.gone', 1)")
    (made,) = evaluations(engine.library())
    assert made.stored.unknown == ("gone",)
    one, two, three = rows(engine.library(), made.id)
    assert "nother version" in two.problem and (two.question_id, two.run_id) == ("q2", f"{made.id}-2")
    assert isinstance(one.action, Action) and three.answer_holds


def test_a_set_of_another_version_says_so_and_can_be_removed(engine: Engine) -> None:
    id = stored_set(engine, 2)
    with closing(sqlite3.connect(engine.library().folder / "library.db")) as connection, connection:
        connection.execute("UPDATE question_sets SET content = '{}'")
    with pytest.raises(StorageError, match="another version"):
        question_set(engine.library(), id)
    assert [each.id for each in engine.library().evaluations.sets()] == [id]
    engine.library().evaluations.delete_set(id)
    assert engine.library().evaluations.sets() == []


def test_what_an_evaluation_spent_is_known_when_its_runs_are_gone(engine: Engine) -> None:
    id = add_set(engine.library(), read_set("s.csv", b"question\nWhy?\nHow?\n"))
    list(evaluate(engine, id, RunRequest("", "plain-rag")))
    (made,) = evaluations(engine.library())
    library, prices = engine.library(), table()
    assert cost_text(spending(library, made.id, prices)) == "$0"
    for run, tokens in ((f"{made.id}-1", 1_000_000), (f"{made.id}-2", 500_000), ("another", 9_000_000)):
        call = Call(step="answer", provider="openai", model="gpt-4o", seconds=1.0, input_tokens=tokens, output_tokens=0)
        library.runs.save(Trace(run_id=run, started_at="2026-01-01", calls=(call,), finished=True), [])
    library.runs.delete(f"{made.id}-1")
    found = spending(library, made.id, prices)
    assert (found.calls, found.input_tokens, cost_text(found)) == (2, 1_500_000, "$3.75")
