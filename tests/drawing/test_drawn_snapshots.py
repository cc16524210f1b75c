"""What is drawn and told of whole runs, word for word as in snapshots/; SNAPSHOTS=write takes them anew, to be read."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from crag.core import events as ev
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import (
    Answer,
    Citation,
    FigureCheck,
    Grade,
    Judgement,
    Reported,
    SentenceCheck,
    ShortAnswer,
)
from crag.export import markdown
from crag.export.html import answer, evidence, pages, path, slides
from crag.export.html.passage import Passage, View, draw_passage
from crag.generation.extractive import ExtractiveGenerator
from crag.testing.contracts import strip_of
from crag.testing.fakes import table_chunk_of
from tests.drawing.test_drawing_evidence import BOUNDS, CHUNK, LINES, found, strips
from tests.drawing.test_drawing_evidence import run as searched
from tests.support.inspector import Inspector
from tests.support.whole_run import GRADER, NASTY, QWEN, approved, asked_outside, cited, events, refused

FOLDER = Path(__file__).parent / "snapshots"


def of(made: Sequence[ev.Event]) -> Trace:
    return Trace.from_events(made)


def check(sentence: str, *citations: int, **more: object) -> SentenceCheck:
    return SentenceCheck(**{"sentence": sentence, "citations": citations, "supported": None, "note": "scored", **more})


def checked() -> list[ev.Event]:
    """A run whose model cites once, with what the check made of the rest."""
    said = "The bridge was opened in 1890 [2]. It rose by 5 % [1]. It is red. Here is more:"
    local, model = {"judge": "evaluator", "by": "local-4"}, {"judge": "model", "by": GRADER}
    judged = (
        (Judgement(judge="words", supported=None, score=0.8), Judgement(**local, supported=True, score=0.9)),
        (Judgement(judge="words", supported=True, score=0.95), Judgement(**model, supported=False, score=0.0)),
        (Judgement(**local, supported=False, score=0.1),),
    )
    checks = (
        check("The bridge was opened in 1890.", 2, supported=True, score=0.9, by="local-4", attributed=True),
        check("It rose by 5 %.", 1, supported=True, score=0.95, by=GRADER),
        check("It is red.", supported=False, score=0.1, note="nothing shown"),
    )
    checks = tuple(replace(each, judgements=by) for each, by in zip(checks, judged, strict=True))
    by_model = Answer(text=said, by=QWEN, citations=(cited(1, "c0", "internal", page=4),))
    late = replace(cited(2, "c0", "internal", page=4), strip_id="c0:9", found=True)
    changes = {
        ev.Answered: {"answer": by_model},
        ev.Verified: {
            "checks": (*checks, check("Here is more:", note="")),
            "faithfulness": 2 / 3,
            "found": (late,),
        },
    }
    return [replace(event, **changes.get(type(event), {})) for event in approved()]


def answered(text: str, *checks: SentenceCheck, **changes: object) -> Trace:
    """The whole run with another answer."""
    trace = of(events())
    return replace(trace, answer=replace(trace.answer, text=text, **changes), text=text, checks=checks)


def short_answered(text: str, **of_a_cell: str) -> Trace:
    """The whole run with words of its answer told first."""
    place = {"citation": 2, "source_id": "w1", "strip_id": "w1:0", "start": 0, "end": 4}
    return answered(of(events()).answer.text, short=ShortAnswer(text=text, confidence=0.83, **place, **of_a_cell))


def figures() -> Trace:
    """An answer three of whose four figures do not stand in its source."""
    said = f"Sales were 1,632 in 2018, which is 79 more {NASTY}."
    states = {"1,632": "missing", "2018": "stands", "79": "missing", NASTY: "missing"}
    spans = {text: {"start": said.index(text), "end": said.index(text) + len(text)} for text in states}
    marked = tuple(FigureCheck(**spans[text], text=text, kind="number", state=states[text]) for text in states)
    found = check(said, 1, supported=False, note="figures", figures=marked)
    return answered(f"Sales  were\n1,632 in [1] 2018, which is 79 more {NASTY} [1].", found)


def quoting(question: str, numbers: Sequence[int], *rows: list[str]) -> Trace:
    """A run with the answer that these rows of a table give."""
    chunk = table_chunk_of(*rows)
    texts = "\n".join(chunk.text[row.start : row.end] for at in numbers for row in [chunk.tables[0].rows[at]])
    *_, whole = ExtractiveGenerator().answer(question, [strip_of(chunk, texts, 0.9)], {chunk.id: chunk}, Settings())
    trace = of(events())
    rounds = replace(trace.rounds[0], chunks=(replace(trace.rounds[0].chunks[0], chunk=chunk),))
    return replace(trace, answer=whole, text=whole.text, checks=(), rounds=(rounds,))


SALES = (["", "2021", "2020"], ["Net sales", "$192,052", "$163,220"], ["Membership <fees>", "3,877", "3,541"])
YEARS = [str(year) for year in range(2016, 2022)]
DIFFERING = (
    Reported(value="1,577", citation=1, dated="2018"),
    Reported(value=f"1,632 {NASTY}", citation=2, dated="2019"),
)
SENT = [*asked_outside(), ev.ApprovalGiven(approved=True, at=5.0)]
BROKEN = ev.Failed(step="evaluate", cause="It broke.", remedy="Do this.", fatal=True, at=1)
ALL_BROKE = ev.Failed(step="answer", cause="All broke.", remedy="Wait.", fatal=True, at=5.0)
NO_WEB = ev.Failed(step="search", cause="Tavily failed.", remedy="Wait.", at=5.0)
ENDED = ev.StepFinished(step="search", seconds=1.0, at=5.0)


def remembered() -> list[ev.Event]:
    """A run whose web results were found before."""
    at = {"found_at": "2026-11-21T17:20:09+00:00"}
    asks = ev.ApprovalAsked | ev.ApprovalGiven
    kept = [event for event in approved() if not isinstance(event, asks)]
    return [replace(event, **at) if isinstance(event, ev.Searched) else event for event in kept]


def jointly() -> list[ev.Event]:
    """A run that grades all chunks together, up to that grade."""
    begun = asked_outside()[:4]
    grade = Grade(passage_id="joint", score=0.9, reason="best of 3 passages: names it", evaluator=GRADER)
    started = replace(begun[0], settings={**begun[0].settings, "evaluator": "joint"})
    return [started, *begun[1:], ev.Graded(grade=grade, joint=True, at=1.0)]


def tokens(count: int) -> list[ev.Event]:
    """A run up to so many tokens of its answer."""
    first = next(number for number, event in enumerate(approved()) if isinstance(event, ev.Token))
    return approved()[: first + count]


def kept_strips(view: View, *whys: str) -> str:
    return draw_passage(Passage(text=CHUNK.text, strips=strips(whys or [why for _, why in LINES])), view)


def searches() -> str:
    """Chunks of two searches, one below the other."""
    brought = [[found(1), found(4, "Second.")], [found(2, "Third.", round=1)]]
    trace = searched(brought, tuple(each.chunk.id for round in brought for each in round))
    return evidence.chunks(trace, View.of(trace))


def sections(made: Sequence[ev.Event]) -> str:
    return "\n".join(pages.sections(of(made)))


HTML: dict[str, Callable[[], object]] = {
    "whole": lambda: sections(events()),
    "retrieved": lambda: sections(events()[:3]),
    "grading": lambda: sections(events()[:6]),
    "failed": lambda: sections([*events()[:5], BROKEN]),
    "stopped": lambda: sections([*events()[:5], ev.Cancelled(at=1), ev.RunFinished(at=1)]),
    "approved": lambda: sections(approved()),
    "refused": lambda: sections(refused()),
    "checked": lambda: sections(checked()),
    "remembered": lambda: evidence.web(of(remembered()), View.of(of(remembered()))) + path.action(of(remembered())),
    "waiting for a joint grade": lambda: evidence.chunks(of(jointly()[:-1]), View.of(of(jointly()))),
    "a joint grade": lambda: evidence.chunks(of(jointly()), View.of(of(jointly()))),
    "a mark begun": lambda: answer.answer(of(tokens(1))),
    "a mark ended": lambda: answer.answer(of(tokens(2))),
    "answer failed": lambda: path.path(of([*SENT, ALL_BROKE])),
    "search failed": lambda: path.path(of([*SENT, NO_WEB, ENDED])),
    "words of the web": lambda: answer.answer(short_answered("else")),
    "words of another source": lambda: answer.answer(short_answered("words")),
    "words of a cell": lambda: answer.answer(short_answered(NASTY, row="Sales", column="2018", scale="million")),
    "figures": lambda: answer.answer(figures()),
    "values that differ": lambda: answer.answer(answered("It is so [1].", differing=DIFFERING)),
    "a contradiction": lambda: answer.answer(answered("It is 5 [1].", contradicts=DIFFERING[0])),
    "a row": lambda: answer.answer(quoting("What were the net sales in 2020?", [0], *SALES)),
    "rows": lambda: answer.answer(quoting("Which sales and fees were there?", [0, 1], *SALES)),
    "a long row": lambda: answer.answer(
        quoting("What were the net sales in 2020?", [0], ["", *YEARS], ["Net sales", *(f"$19{year}" for year in YEARS)])
    ),
    "kept strips": lambda: kept_strips(BOUNDS),
    "strips of what-if": lambda: kept_strips(
        replace(BOUNDS, kept={CHUNK.id: {strips([""] * 8)[3].id: "neighbour"}}), *[""] * 8
    ),
    "two searches": searches,
    "slides": lambda: slides.show_slides(of(events()), {2: b"webp"}, name="r", app=True),
}


@pytest.mark.parametrize("name", HTML)
def test_html_is_as_it_was_and_inert(name: str) -> None:
    made = str(HTML[name]())
    seen = Inspector(made)
    assert not seen.open and "script" not in seen.tags and ("img" in seen.tags) is (name == "slides")
    assert not [attribute for attribute, _ in seen.attributes if attribute.startswith("on")]
    compare(f"{name}.html", made.replace("><", ">\n<") + "\n")


def later_cited() -> Trace:
    """Of two sentences one was found in a source afterwards, and one in none."""
    first = check("It opened in 1890.", 1, supported=True, attributed=True)
    second = check("It is red.", supported=False, note="nothing shown")
    one = replace(quote(), found=True)
    return answered("It opened in 1890 [1]. It is red.", first, second, citations=(one,))


def quote(number: int = 1, **more: object) -> Citation:
    return replace(cited(number, "c0", "internal", 3, "It was 1890.", source="r.pdf"), **more)


def differing() -> Trace:
    """What claims nothing, and values that documents give differently."""
    claims_nothing = check("Here is what they say.", note="")
    supported = check("It is 5 km.", 1, supported=True)
    values = (Reported(value="5 km", citation=1), Reported(value="6 km", citation=2))
    text, citations = "Here is what they say. It is 5 km [1].", (quote(1), quote(2))
    return answered(text, claims_nothing, supported, differing=values, citations=citations)


def handed() -> Trace:
    return replace(of(events()), wanted="evidence", answer=None, checks=(), via="agent", client="*x* <b>")


KEPT = {"from_web": "unverified", "url": "https://example.org/a b", "recognised": 0.8}
STRANGE = {"origin": "external", "page": None, "url": "javascript:alert(1)"}
MARKDOWN: dict[str, Callable[[], Trace]] = {
    "whole": lambda: of(events()),
    "grading": lambda: of(events()[:6]),
    "stopped": lambda: replace(of(events()[:6]), cancelled=True),
    "approved": lambda: of(approved()),
    "found afterwards": later_cited,
    "kept and recognised": lambda: answered("Yes [1].", citations=(quote(**KEPT),)),
    "no address of the web": lambda: answered("Yes [1].", citations=(quote(**STRANGE),)),
    "values that differ": differing,
    "rows": lambda: quoting("Which sales and fees were there in 2020?", [0, 1], *SALES),
    "handed over": handed,
}


@pytest.mark.parametrize("name", MARKDOWN)
def test_markdown_is_as_it_was_and_inert(name: str) -> None:
    made = markdown.turn(MARKDOWN[name]())
    assert "<javascript" not in made and "<img" not in made.replace("\\<img", "")
    compare(f"{name}.md", made.rstrip("\n") + "\n")


@pytest.mark.parametrize("made", [events, approved, refused])
def test_slides_say_what_they_said(made: Callable[[], list[ev.Event]]) -> None:
    said = [f"{slide.step}: {slide.says}" for slide in slides.run_slides(of(made()), {})]
    compare(f"slides of {made.__name__}.txt", "\n".join(said) + "\n")


def compare(name: str, made: str) -> None:
    place = FOLDER / name.replace(" ", "-")
    if os.environ.get("SNAPSHOTS") == "write":
        place.parent.mkdir(exist_ok=True)
        place.write_text(made, encoding="utf-8")
    assert made == place.read_text(encoding="utf-8"), f"SNAPSHOTS=write takes {name} anew"
