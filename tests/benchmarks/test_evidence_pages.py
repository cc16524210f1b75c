"""The evidence benchmark: which questions are made, how far a gold page comes, and why it is lost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.evidence_questions import made_questions
from benchmarks.evidence_report import AskedQuestion
from crag.analysis.questions.sets import Question
from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES
from crag.core.tables import Cell, Row, Table
from crag.core.trace import Round, Trace
from crag.core.types import Action, Chunk, Grade, RetrievedChunk, Strip
from crag.evaluation.trigger import decide

BALANCED = STRATEGIES["balanced"].settings
GOLD = Question("q", "How many hens?", ("12",), ("Farm_2020.pdf",), (3,))


def chunk(id: str, page: int, text: str, tables: tuple[Table, ...] = ()) -> Chunk:
    kind = "table" if tables else "text"
    return Chunk(
        id=id,
        document_id="d",
        source="Farm_2020.pdf",
        title="Farm report",
        page=page,
        ordinal=page,
        start=0,
        end=len(text),
        text=text,
        kind=kind,
        tables=tables,
    )


def test_a_cell_and_a_sentence_become_questions_about_their_pages() -> None:
    row = "Hens in barn: 2020 12"
    table = Table(start=0, end=len(row), header=("2020",), rows=(Row(0, len(row), 12, (Cell(0, 19, 21),)),))
    prose = "The number of foxes near the barn increased to nineteen in 2020 because of the mild winter."
    found = list(made_questions([chunk("t", 2, row, (table,)), chunk("p", 5, prose)], {}))
    cell, sentence = found
    assert cell.pages == (2,)
    assert cell.answers == ("12",)
    assert "2020" in cell.question and "ens in barn" in cell.question and "Farm report" in cell.question
    assert sentence.pages == (5,)
    assert "number of foxes near the barn" in sentence.question


def asked(*scores: tuple[float, int, float], settings: Settings = BALANCED) -> AskedQuestion:
    """Chunks as (grade, page, score of their strip); run with every chunk refined."""
    chunks = [chunk(str(at), page, f"Words {at} about something else.") for at, (_, page, _) in enumerate(scores)]
    grades = {
        each.id: Grade(passage_id=each.id, score=grade) for each, (grade, _, _) in zip(chunks, scores, strict=True)
    }
    decision = decide([*grades.values()], upper=settings.upper, lower=settings.lower, aggregation=settings.aggregation)
    found = tuple(RetrievedChunk(chunk=each, rank=rank, similarity=0.5) for rank, each in enumerate(chunks, start=1))
    strips = {
        each.id: (
            Strip(
                id=f"{each.id}:0",
                source_id=each.id,
                origin="internal",
                start=0,
                end=len(each.text),
                text=each.text,
                score=score,
                kept=True,
            ),
        )
        for each, (_, _, score) in zip(chunks, scores, strict=True)
    }
    open_settings = settings.changed(internal_on=tuple(Action), refine_on=tuple(Action), max_rewrites=0)
    run = Trace(
        settings=open_settings.model_dump(mode="json"),
        rounds=(Round(query="q", chunks=found, grades=grades, decision=decision),),
        strips=strips,
    )
    plain = replace(run, rounds=(Round(query="q", chunks=found),))
    return AskedQuestion("farms", "choose", GOLD, {"plain-rag": plain, "balanced": run, "open": run})


NO_LOOP = BALANCED.changed(max_rewrites=0)


@pytest.mark.parametrize(
    ("scores", "changes", "cause"),
    [
        ([(0.9, 3, 0.9), (0.1, 1, 0.9)], {}, None),
        ([(0.9, 1, 0.9), (0.1, 3, 0.01)], {}, "below the strip filter"),
        ([(0.9, 1, 0.9), (0.1, 3, 0.5)], {"strip_words": 5}, "no room"),
        ([(0.1, 1, 0.9), (0.1, 3, 0.5)], {}, "the action is INCORRECT"),
        ([(0.9, 1, 0.9), (0.1, 2, 0.5)], {}, None),
    ],
)
def test_why_a_page_is_lost(
    scores: list[tuple[float, int, float]], changes: dict[str, float], cause: str | None
) -> None:
    row, found = asked(*scores).decided(NO_LOOP.changed(**changes))
    assert found == cause
    assert row.kept == (cause is None and row.retrieved)


@pytest.mark.parametrize(("answer", "holds"), [("8", False), ("0", True), ("1", False), ("yes", None)])
def test_only_what_is_kept_of_the_gold_page_holds_the_answer(answer: str, holds: bool | None) -> None:
    one = asked((0.9, 3, 0.9), (0.1, 1, 0.9))
    one = replace(one, question=replace(GOLD, answers=(answer,)))
    row, _ = one.decided(NO_LOOP)
    assert row.held is holds
    assert one.row("balanced").held is holds
