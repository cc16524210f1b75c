"""Where runs of one question differ: over traces made by hand, so that every mark has one cause."""

import csv
import io
import json
from dataclasses import replace

import pytest

from crag.analysis.comparison import differences, figures, table
from crag.core.ranking import rank_chunks
from crag.core.settings import Settings
from crag.core.trace import Round, Search, Trace
from crag.core.types import Action, Answer, Call, Citation, Strip, WebPage
from crag.evaluation.refinement import make_strip
from crag.providers.prices import Price
from crag.testing.fakes import chunk_of
from crag.text.spreadsheets import csv_export, json_export
from tests.support.made import decided

FIRST = chunk_of("Paris is the capital. It lies on the Seine. It is old.", page=1)
SECOND = chunk_of("Lyon is another city.", page=2, ordinal=1)
THIRD = chunk_of("=A spreadsheet would run this.", page=3, ordinal=2)
PAGE = WebPage(
    id="w", url="https://example.org/a", title="A page", text="Web words. More.", provider="p", query="q", rank=1
)
NAMES = ["one", "two"]


def cut(chunk, *ends: int, kept: tuple[int, ...] = ()) -> tuple[Strip, ...]:  # type: ignore[no-untyped-def]
    """The chunk's strips up to each of the ends; `kept` are the places of those that are kept."""
    starts = (0, *ends[:-1])
    return tuple(
        make_strip(chunk.id, chunk.text, "internal", start, end, 0.5, kept=place in kept)
        for place, (start, end) in enumerate(zip(starts, ends, strict=True))
    )


def run(chunks=(FIRST, SECOND), strips=(), answer=None, action=None, **more) -> Trace:  # type: ignore[no-untyped-def]
    return Trace(
        question="q",
        settings=Settings().model_dump(mode="json"),
        rounds=(Round(query="q", chunks=tuple(rank_chunks(chunks)), decision=action and decided(action)),),
        strips={group[0].source_id: group for group in strips},
        answer=answer,
        finished=True,
        **more,
    )


def said(text: str, *cited: tuple[str, int]) -> Answer:
    citations = tuple(
        Citation(number=n, strip_id="s", source_id="c", origin="internal", source=source, quote="", page=page)
        for n, (source, page) in enumerate(cited, 1)
    )
    return Answer(text=text, by="extractive", citations=citations)


def whole(chunk):  # type: ignore[no-untyped-def]
    return cut(chunk, len(chunk.text), kept=(0,))


def test_runs_that_are_the_same_have_nothing_marked() -> None:
    same = run(strips=[whole(FIRST)], answer=said("Paris [1].", ("paper.pdf", 1)))
    found = differences([same, same], NAMES)
    assert not found.items and not any(figure.differs for figure in found.figures)
    for marks in found.marks:
        assert not (marks.found or marks.used or marks.unused or marks.strips)
        assert not marks.sources and not marks.sentences


def test_a_chunk_found_in_one_run_only_and_one_used_in_one_run_only() -> None:
    one = run(chunks=(FIRST, SECOND), strips=[whole(FIRST), whole(SECOND)])
    two = run(chunks=(FIRST, THIRD), strips=[whole(THIRD)])
    found = differences([one, two], NAMES)
    assert found.marks[0].found == {SECOND.id: (1,)} and found.marks[1].found == {THIRD.id: (0,)}
    assert found.marks[0].used == {FIRST.id: (1,)} and found.marks[1].unused == {FIRST.id: (0,)}
    states = {item.where: item.states for item in found.items if item.kind == "chunk"}
    assert states == {
        "paper.pdf, page 1": ("used", "not used"),
        "paper.pdf, page 2": ("used", "not found"),
        "paper.pdf, page 3": ("not found", "used"),
    }


def test_text_is_compared_by_its_characters_however_it_was_cut() -> None:
    """Sentences 1 and 2 as two strips here, as one strip there: the same text is kept."""
    fine = run(strips=[cut(FIRST, 21, 43, len(FIRST.text), kept=(0, 1))])
    coarse = run(strips=[cut(FIRST, 43, len(FIRST.text), kept=(0,))])
    for marks in differences([fine, coarse], NAMES).marks:
        assert not marks.strips
    narrow = run(strips=[cut(FIRST, 21, 43, len(FIRST.text), kept=(0,))])
    ours, theirs = differences([fine, narrow], NAMES).marks
    assert ours.strips == {f"{FIRST.id}:21-43"} and not theirs.strips


def test_sentences_are_the_same_whatever_they_cite_and_however_they_are_written() -> None:
    one = run(answer=said("Paris is the capital [1]. It is old [2].", ("paper.pdf", 1), ("paper.pdf", 2)))
    two = run(answer=said("paris is  the capital. [1] Nobody knows more.", ("paper.pdf", 1)))
    found = differences([one, two], NAMES)
    [(start, end)] = found.marks[0].sentences
    assert one.answer is not None and one.answer.text[start:end] == "It is old [2]."
    [(start, end)] = found.marks[1].sentences
    assert two.answer is not None and two.answer.text[start:end] == "Nobody knows more."
    assert found.marks[0].sources == {2: (1,)} and found.marks[1].sources == {}
    assert [item.what for item in found.items if item.kind == "sentence"] == ["It is old.", "Nobody knows more."]


def test_evidence_handed_over_is_no_answer_that_lacks_anything() -> None:
    handed, spoken = run(wanted="evidence"), run(answer=said("Paris."))
    found = differences([handed, spoken], NAMES)
    values = {each.name: each.values for each in found.figures}
    assert values["answer"] == ("handed over", "answered")
    assert (values["sentences"], values["sources"]) == ((None, 1), (None, 0))
    assert found.marks[1].sentences == () and not [item for item in found.items if item.kind == "sentence"]
    other = run(answer=said("Lyon."))
    three = differences([handed, spoken, other], ["a", "b", "c"])
    assert len(three.marks[1].sentences) == 1
    assert {item.states[0] for item in three.items if item.kind == "sentence"} == {"evidence alone"}


def test_web_pages_are_known_by_their_address() -> None:
    searched = Search(query="q", provider="p", pages=(PAGE,))
    again = replace(PAGE, id="w2", text="Web words, read in full.")
    one = run(strips=[(make_strip("w", PAGE.text, "external", 0, 10, 0.5, kept=True),)], searches=(searched,))
    two = run(
        strips=[(make_strip("w2", again.text, "external", 0, 10, 0.5, kept=True),)],
        searches=(replace(searched, pages=(again,)),),
    )
    found = differences([one, two, run()], ["a", "b", "c"])
    assert found.marks[0].found == {"w": (2,)} and found.marks[1].found == {"w2": (2,)}
    [item] = [item for item in found.items if item.kind == "page"]
    assert item.states == ("used", "used", "not found")


def test_the_figures_of_actions_forced_or_not_and_of_calls() -> None:
    call = Call(step="evaluate", provider="x", model="m", seconds=1.0, input_tokens=1_000_000, output_tokens=0)
    scored = run(action=Action.CORRECT, calls=(call,), seconds=2.0)
    assert scored.round is not None and scored.round.decision is not None
    decision = replace(scored.round.decision, action=Action.INCORRECT, instead_of=Action.CORRECT)
    forced = replace(scored, rounds=(replace(scored.round, decision=decision),), calls=())
    found = {each.name: each for each in figures([scored, forced], {"m": Price(input=3.0, output=6.0)})}
    assert found["action"].values == (Action.CORRECT, Action.INCORRECT) and found["action"].differs
    assert found["scores_say"].values == (Action.CORRECT, Action.CORRECT) and not found["scores_say"].differs
    assert (found["calls"].values, found["tokens"].values) == ((1, 0), (1_000_000, 0))
    assert found["cost"].values == (3.0, 0.0) and found["seconds"].values == (2.0, 2.0)
    assert "scores_say" not in {each.name for each in figures([scored, scored])}


def test_the_file_has_a_column_a_run_and_no_live_formula() -> None:
    found = differences([run(chunks=(THIRD,)), run(chunks=())], NAMES)
    columns, rows = table(found)
    assert columns == ["kind", "what", "where", "one", "two"]
    lines = list(csv.reader(io.StringIO(csv_export(columns, rows).decode("utf-8-sig"))))
    [chunk] = [line for line in lines if line[0] == "chunk"]
    assert chunk == ["chunk", "'=A spreadsheet would run this.", "paper.pdf, page 3", "not used", "not found"]
    assert json.loads(json_export(columns, rows))[-1]["what"] == THIRD.text


def test_every_run_needs_a_name() -> None:
    with pytest.raises(ValueError, match="name"):
        differences([run()], [])
