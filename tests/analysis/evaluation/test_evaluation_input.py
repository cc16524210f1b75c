"""Question sets as people have them, stored and told whole: mixed encodings, equal ids, formulas, 50,000 rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from crag.analysis.evaluate import add_set, evaluate, evaluations, question_set, rows, spending
from crag.analysis.metrics.results import flat
from crag.analysis.questions.adapters import csv_export
from crag.analysis.questions.sets import read_set
from crag.core.request import RunRequest
from crag.core.trace import Trace
from crag.core.types import Call
from crag.engine import Engine
from crag.messages.providers import cost_text
from crag.providers.prices import table
from tests.support.evaluation_makers import filled_engine


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = filled_engine(tmp_path)
    yield made
    made.close()


def test_mixed_encodings_and_equal_ids_come_through_to_the_exported_rows(engine: Engine) -> None:
    """A line in Windows-1252 in a file of UTF-8, an id used twice, and a row without a question."""
    western = "d,Wie lange dauert die Prüfung für 5 €?\n".encode("cp1252")
    found = read_set("mixed.csv", "id,question\nd,Où est la forêt?\n".encode() + western + b"e,\nf,Why? \xe6\x97\xa5\n")
    id = add_set(engine.library(), found)
    assert question_set(engine.library(), id) == found
    assert [each.problems for each in engine.library().evaluations.sets()] == [2]
    list(evaluate(engine, id, RunRequest("", "plain-rag")))
    (made,) = evaluations(engine.library())
    measured = [flat(row) for row in rows(engine.library(), made.id)]
    columns = list(dict.fromkeys(name for each in measured for name in each))
    file = csv_export(columns, [[each.get(name) for name in columns] for each in measured])
    told = list(csv.DictReader(io.StringIO(file.decode("utf-8-sig"))))
    assert [(each["question_id"], each["question"]) for each in told] == [
        ("d", "Où est la forêt?"),
        ("d-2", "Wie lange dauert die Prüfung für 5 €?"),
        ("f", "Why? 日"),
    ]
    assert [engine.library().runs.trace(each["run_id"]).question for each in told] == [
        each["question"] for each in told
    ]


def test_formulas_are_asked_as_they_are_and_exported_as_text(engine: Engine) -> None:
    asked = ["=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0", "-2", "\t=1"]
    found = read_set("f.csv", b"id,question\n" + b"".join(f'"{each}","{each}"\n'.encode() for each in asked))
    list(evaluate(engine, add_set(engine.library(), found), RunRequest("", "plain-rag")))
    (made,) = evaluations(engine.library())
    measured = rows(engine.library(), made.id)
    assert [row.question for row in measured] == [each.strip() for each in asked]
    text = csv_export(["id", "question"], [[row.question_id, row.question] for row in measured]).decode("utf-8-sig")
    cells = [cell for line in csv.reader(io.StringIO(text)) for cell in line]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "@", "\t"))], "a live formula"


@pytest.mark.slow
def test_fifty_thousand_questions_are_stored_and_begun(engine: Engine) -> None:
    """The set is one row, so the list of sets never reads its questions."""
    lines = "".join(f"q{row % 49_000},How many days did case {row} take?,{row}\n" for row in range(50_000))
    found = read_set("many.csv", f"id,question,answer\n{lines}".encode())
    id = add_set(engine.library(), found)
    assert add_set(engine.library(), found) == id
    (listed,) = engine.library().evaluations.sets()
    assert (listed.questions, listed.problems) == (50_000, 1_000)
    events = evaluate(engine, id, RunRequest("", "plain-rag"))
    assert [(event.done, event.total) for event, _ in zip(events, range(3), strict=False)] == [
        (0, 50_000),
        (1, 50_000),
        (2, 50_000),
    ]
    assert len({question.id for question in question_set(engine.library(), id).questions}) == 50_000


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
