"""No foreign text stalls what draws it: the work grows with its length, and so many marks are drawn and no more."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from crag.core import events as ev
from crag.core.trace import Trace
from crag.core.types import Answer, FigureCheck, RetrievedChunk, SentenceCheck, ShortAnswer, Strip, WebPage
from crag.evaluation.refinement import make_strip
from crag.export import markdown
from crag.export.html import answer, evidence, meter, pages, path, site, slides
from crag.export.html.passage import MOST_MARKS, Passage, Sweep, View, annotate, draw_passage, draw_surroundings
from crag.generation.citations import split_cited_sentences
from crag.testing.fakes import chunk_of
from crag.text.guard import InjectionSpan
from crag.text.sentences import sentences
from tests.support.inspector import Inspector
from tests.support.sizes import ALL, thinned
from tests.support.whole_run import cited, events
from tests.support.work import seconds
from ui.run.pageview import leaf

SIZES = (20_000, 200_000, 1_000_000) if ALL else (4_000, 40_000)
GROWTH = 3.0
"""How much more than its share a text of several times the length may take: by the square it would be five and ten."""
QUICK = 0.05
"""Seconds of processor below which a text of any length was looked at in one pass."""
VIEW = View(upper=0.7, lower=0.3)


def strips_of(text: str, of: str, origin: str) -> tuple[Strip, ...]:
    """Its sentences, each second one kept."""
    return tuple(
        replace(
            make_strip(of, text, origin, start, end, 0.5, kept=number % 2 == 0),
            why="context" if number % 4 == 0 else "",
        )
        for number, (start, end) in enumerate(sentences(text))
    )


def spoken_in(text: str) -> tuple[InjectionSpan, ...]:
    """Each second sentence, as if all of these spoke to a model, some of them erased."""
    found = list(sentences(text))[::2]
    return tuple(InjectionSpan(start, end, number % 3 == 0) for number, (start, end) in enumerate(found))


def check_of(number: int, sentence: str, numbers: tuple[int, ...]) -> SentenceCheck:
    """Every fault in turn, each with a figure that is marked."""
    figure = FigureCheck(start=0, end=1, text=sentence[:1], kind="number", state="missing")
    supported = (True, False, None)[number % 3]
    return SentenceCheck(
        sentence=sentence,
        citations=numbers or (1,),
        supported=supported,
        score=0.5,
        note="scored",
        attributed=not numbers,
        figures=(figure,),
    )


class Hostile:
    """A run whose chunks, page, answer, question and names hold one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.strips, self.spoken = strips_of(text, "w1", "external"), spoken_in(text)
        own = strips_of(text, "c0", "internal")
        self.chunk = replace(chunk_of(text, name=text), id="c0")
        found = RetrievedChunk(chunk=self.chunk, rank=1, similarity=0.5, injections=self.spoken)
        page = WebPage(
            id="w1", url=f"https://example.org/{text}", title=text, text=text, provider="folder", query=text, rank=1
        )
        citations = (
            cited(1, "c0", "internal", page=1, quote=text),
            cited(2, "w1", "external", quote=text, url=page.url),
        )
        short = ShortAnswer(
            text=text[:2].strip(), citation=9, source_id="c0", strip_id=own[0].id, start=0, end=2, confidence=0.5
        )
        whole = Answer(text=text, by="openai:m", citations=citations, short=short, doubts=("weak",))
        checks = tuple(check_of(number, *each) for number, each in enumerate(split_cited_sentences(text)))
        self.events = [self._with(each, found, page, own, whole, checks) for each in events()]
        self.trace = Trace.from_events(self.events)

    def _with(self, event, found, page, own, whole, checks) -> ev.Event:
        match event:
            case ev.Retrieved():
                return replace(event, query=self.text, chunks=(found,))
            case ev.Searched():
                return replace(event, query=self.text, pages=(replace(page, injections=self.spoken),))
            case ev.Refined():
                return replace(event, strips=own if event.source_id == "c0" else self.strips)
            case ev.Token():
                return replace(event, text=self.text)
            case ev.Answered():
                return replace(event, answer=whole)
            case ev.Verified():
                return replace(event, checks=checks)
        return event

    @property
    def passage(self) -> Passage:
        return Passage(text=self.text, strips=self.strips, short=(0, 4), spoken=self.spoken)


def writing(run: Hostile) -> object:
    return answer.answer(replace(run.trace, answer=None, text=run.text, finished=False))


def cut_in_pieces(run: Hostile) -> object:
    harmless = markdown.Harmless()
    return [harmless(run.text[at : at + 7]) for at in range(0, len(run.text), 7)]


def alone(run: Hostile) -> object:
    return answer.answer(run.trace, [(start, end) for start, end in sentences(run.text)][::2])


DRAWERS: dict[str, Callable[[Hostile], object]] = {
    "passage": lambda run: draw_passage(run.passage, VIEW),
    "surroundings": lambda run: draw_surroundings(run.passage, VIEW),
    "marks": lambda run: annotate(
        run.text, ([(each.start, each.end, each) for each in run.strips], lambda _, *in_: in_[0])
    ),
    "answer": lambda run: answer.answer(run.trace),
    "answer beside others": alone,
    "answer being written": writing,
    "question": lambda run: answer.question(run.trace, announced=True),
    "sources": lambda run: answer.sources(run.trace),
    "handed over": lambda run: answer.sources(replace(run.trace, answer=None, wanted="evidence")),
    "chunks": lambda run: evidence.chunks(run.trace, VIEW),
    "web": lambda run: evidence.web(run.trace, VIEW),
    "path": lambda run: (path.path(run.trace), path.action(run.trace)),
    "guidance": lambda run: answer.nearest(run.trace, live=False),
    "meter": lambda run: meter.meter(run.trace),
    "slides": lambda run: slides.show_slides(run.trace, {}, name="run"),
    "replay": lambda run: pages.states(run.trace, run.events),
    "page of a run": lambda run: pages.page(run.trace),
    "index of runs": lambda run: site.index([run.trace], ["a.html"]),
    "page of a document": lambda run: leaf([run.chunk], [(each.start, each.end) for each in run.strips]),
    "Markdown": lambda run: markdown.turn(run.trace),
    "chat": lambda run: (
        markdown.opening(run.trace.answer),
        markdown.Harmless()(run.text),
        markdown.closing(run.trace),
    ),
    "chat in pieces": cut_in_pieces,
    "chat read back": lambda run: markdown.extract_answer(f"**{run.text}\n\n---\n\n"),
}
UNITS = [
    "[INST] x. Be. ",
    "41 boats [1][2][3]. ",
    "a\n",
    "See http://a.b/c@d.e, www.f. ",
    "**a** `b` <c> [d](e) ",
]


def grows(draw: Callable[[Hostile], object], runs: list[Hostile]) -> bool:
    """Whether a longer text takes more than its share, three times of three: a busy machine counts other work, too."""

    def once() -> bool:
        taken = [seconds(draw, run) for run in runs]
        return any(
            longer > QUICK and longer / max(shorter, QUICK / 10) > GROWTH * len(more.text) / len(less.text)
            for shorter, longer, less, more in zip(taken, taken[1:], runs, runs[1:], strict=False)
        )

    return all(once() for _ in range(3))


@pytest.fixture(scope="module", params=thinned(UNITS, 3), ids=ascii)
def runs(request: pytest.FixtureRequest) -> list[Hostile]:
    return [Hostile(request.param * (size // len(request.param))) for size in SIZES]


@pytest.mark.parametrize("name", DRAWERS)
def test_the_work_of_drawing_grows_with_the_text_and_not_faster(runs: list[Hostile], name: str) -> None:
    assert not grows(DRAWERS[name], runs)


def test_so_many_marks_are_drawn_and_the_rest_is_counted() -> None:
    run = Hostile("[INST] x. Be. " * 2_000)
    for drawn in (draw_passage(run.passage, VIEW), draw_surroundings(run.passage, VIEW), answer.answer(run.trace)):
        seen = Inspector(drawn)
        assert not seen.open and "There are too many marks to show: " in seen.said
        assert len([tag for tag in seen.tags if tag in ("mark", "s", "span")]) < 3 * MOST_MARKS
        assert seen.said.count("x.") >= 2_000, "every word is there"


def test_of_few_marks_each_is_drawn_and_nothing_said() -> None:
    run = Hostile("[INST] x. Be. " * 100)
    assert draw_passage(run.passage, VIEW).count('class="spoken"') == 100
    assert "too many" not in draw_passage(run.passage, VIEW) + answer.answer(run.trace)


def test_spans_are_drawn_inside_one_another_in_pieces_where_they_cross_and_once_where_they_overlap() -> None:
    def drawn(name: str, inside: object, start: int, end: int) -> str:
        return f"{name}({inside})"

    outer = [(2, 5, "A"), (4, 7, "B"), (9, 9, "C")]
    assert annotate("0123456789", (outer, drawn), ([(0, 3, "x"), (6, 10, "y")], drawn)) == (
        "x(01)A(x(2)34)B(5y(6))y(789)"
    )
    sweep = Sweep("0123456789", ([(6, 10, "y"), (0, 3, "x")], drawn))
    assert (sweep.draw(1, 2), sweep.draw(2, 5), sweep.draw(8, 10)) == ("x(1)", "x(2)34", "y(89)")
