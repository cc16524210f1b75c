"""The engine as a program uses it: settings by name, files and texts, parts of its own, and several configurations."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crag import (
    STRATEGIES,
    AppConfig,
    Configuration,
    CragError,
    Engine,
    Question,
    RetrievedChunk,
    RunRequest,
    Settings,
    Trace,
    compare,
    evaluate,
    rank_texts,
)
from crag.core.ingesting import DocumentAdded, DocumentFailed
from crag.testing.fakes import ScriptedEvaluator
from tests.support.small_library import WordEmbedder

QUESTION = "How long is the warranty?"
WARRANTY = "The warranty ends two years after delivery."


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    config, evaluator = AppConfig.of(data=tmp_path / "data"), ScriptedEvaluator(score=lambda text: 0.9)
    with Engine(config, embedder=WordEmbedder(), evaluator=evaluator) as made:
        yield made


@pytest.mark.parametrize("given", [{"k": 5}, Settings(k=5)])
def test_a_run_has_its_strategy_s_settings_but_for_those_it_names(engine: Engine, given: Any) -> None:
    trace = engine.trace(RunRequest(QUESTION, settings=given, retriever=Texts((WARRANTY, "terms.txt"))))
    assert trace.strategy == "balanced"
    assert trace.settings == STRATEGIES["balanced"].settings.changed(k=5).model_dump(mode="json")


def test_another_strategy_s_settings_are_all_its_own() -> None:
    loop = STRATEGIES["loop"].settings
    assert RunRequest("", settings=loop).effective_settings == loop


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"nope": 3}, "nope"),
        ({"upper": 2}, "upper"),
        (Settings().model_copy(update={"upper": 2}), "upper"),
        ({"upper": 0.1, "lower": 0.5}, "lower threshold is above"),
        ("k=5", "mapping"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_by_name(engine: Engine, given: Any, named: str) -> None:
    with pytest.raises(CragError, match=named):
        engine.ask(RunRequest(QUESTION, settings=given))


def test_files_and_texts_are_added_when_the_call_returns(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "terms.txt"
    file.write_text(WARRANTY, encoding="utf-8")
    engine.add(file)
    engine.add("notes", "Invoices are due within thirty days.")
    engine.add("more.txt", b"The office is closed on Sundays.")
    assert sorted(engine.library().documents.names().values()) == ["more.txt", "notes", "terms.txt"]
    [missing] = engine.add(tmp_path / "none.txt")
    assert isinstance(missing, DocumentFailed) and "none.txt" in missing.message
    with pytest.raises(CragError, match="data: bytes or a text is wanted"):
        engine.add("a.txt", 3)  # type: ignore[arg-type]
    events = list(engine.add_files([("a.txt", "A text."), ("b.txt", b"Another."), ("c.txt", lambda: b"A third.")]))
    assert sum(isinstance(event, DocumentAdded) for event in events) == 3


class Texts:
    """A retriever of a program's own."""

    def __init__(self, *texts: Any) -> None:
        self._texts = texts

    def search(self, query: str, k: int) -> list[RetrievedChunk]:
        return rank_texts(self._texts[:k])


def test_texts_with_their_sources_are_what_a_retriever_returns(engine: Engine) -> None:
    found = Texts((WARRANTY, "terms.txt"), ("Invoices are due within thirty days.", "invoices.txt"))
    answer = engine.answer(RunRequest(QUESTION, retriever=found))
    assert "two years" in answer.text and [cited.source for cited in answer.citations][:1] == ["terms.txt"]
    [first, second] = found.search("", 5)
    assert (first.rank, second.rank) == (1, 2) and first.chunk.id != second.chunk.id
    assert rank_texts([(WARRANTY, "terms.txt")])[0].chunk.id == first.chunk.id


def test_a_retriever_that_returns_texts_alone_is_told_what_makes_chunks_of_them(engine: Engine) -> None:
    class Plain:
        def search(self, query: str, k: int) -> list[str]:
            return [WARRANTY]

    with pytest.raises(CragError, match=r"returned a str where a RetrievedChunk is wanted.*rank_texts"):
        engine.trace(RunRequest(QUESTION, retriever=Plain()))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["embedder", "evaluator", "web", "rewriter", "generator"])
def test_a_part_that_lacks_a_field_is_refused_with_both_names(tmp_path: Path, name: str) -> None:
    class Half:
        """A part without any field."""

    with pytest.raises(CragError, match=f"{name}: Half has no "):
        Engine(AppConfig.of(data=tmp_path), **{name: Half()})  # type: ignore[arg-type]


def test_what_cannot_be_searched_is_refused_before_any_event(engine: Engine) -> None:
    with pytest.raises(CragError, match="retriever: list has no search"):
        engine.ask(RunRequest(QUESTION, retriever=[]))  # type: ignore[arg-type]


def test_configurations_are_compared_and_evaluated_beside_one_another(engine: Engine) -> None:
    engine.add("terms.txt", f"Terms of sale\n\n{WARRANTY}")
    plain, strict = Configuration(), Configuration(settings={"lower": 0.98, "upper": 0.99}, name="strict")
    compared = compare(engine, QUESTION, [plain, strict])
    assert [type(trace) for trace in compared.traces] == [Trace, Trace]
    assert compared.differences.names == ("balanced", "strict")
    assert [str(trace.action) for trace in compared.traces] == ["CORRECT", "INCORRECT"]
    asked = [Question("1", QUESTION, answers=("two years",))]
    found = evaluate(engine, asked, [plain, strict])
    assert [len(each.rows) for each in found] == [1, 1] and found[0].id != found[1].id
    assert found[0].result.means["right"].value == 1.0
    assert found[0].against(found[1])["right"].names == ("strict", "balanced")
    assert [each.id for each in evaluate(engine, asked, [plain, strict])] == [each.id for each in found]
    with pytest.raises(CragError, match=r"questions: none\.csv can't be opened"):
        evaluate(engine, "none.csv")


def test_settings_that_a_configuration_changes_are_in_its_title() -> None:
    assert Configuration("paper", {"k": 3}).title == "paper (k=3)"
