"""Where several runs of one question differ: actions, chunks, text kept, sources, sentences, and what each took. Pure.

Runs cut texts differently, so text is compared by its characters: a strip counts as kept elsewhere where at least
half of it is kept there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from crag.core.trace import Trace
from crag.core.types import Chunk, Citation, Strip, WebPage
from crag.providers.prices import PRICES, Prices, sum_calls
from crag.text.sentences import sentences
from crag.text.words import count_words, words

Value = str | int | float | None
Places = tuple[int, ...]
Key = TypeVar("Key", bound=Hashable)
Kind = Literal["chunk", "page", "sentence"]

HANDED = "handed over"
"""How a run ended that another program answers."""
ALONE = "evidence alone"
"""What is said of an answer where another program writes it."""
_HALF = 0.5
_MARKS_HERE = re.compile(r"(?>(?:\s*+\[\d{1,3}\])+)")
_MARKS = re.compile(rf"(?<!\s){_MARKS_HERE.pattern}")
"""Anywhere: from the first blank of a run on, so that a long run is looked at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number or word of each run, in order; None where there is none. `unit`: s, $, share or nothing."""

    name: str
    label: str
    values: tuple[Value, ...]
    unit: Literal["", "s", "$", "share"] = ""

    @property
    def differs(self) -> bool:
        return len(set(self.values)) > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Something that the runs treat differently, and what each does with it, in order."""

    kind: Kind
    what: str
    where: str
    states: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """What stands out in one run. Places are those of the other runs, counted from 0; none of them is empty.

    `found`: chunks and pages, by id, with the runs that did not find them. `used` and `unused`: those that this run
    answers from, or does not, with the runs that found them too and do otherwise. `strips`: ids of strips kept in no
    other run. `sources`: citation numbers with the runs that do not cite that page. `sentences`: where in the answer
    those stand that no other run says, as [start, end).
    """

    found: Mapping[str, Places]
    used: Mapping[str, Places]
    unused: Mapping[str, Places]
    strips: frozenset[str]
    sources: Mapping[int, Places]
    sentences: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """Of runs named `names`: figures of all, items that differ, and each run's marks."""

    names: tuple[str, ...]
    figures: tuple[Figure, ...]
    items: tuple[Item, ...]
    marks: tuple[Marks, ...]


def differences(traces: Sequence[Trace], names: Sequence[str], prices: Prices = PRICES) -> Differences:
    """Where the runs, finished or not, differ; `names` are what they are called, one each."""
    if len(traces) != len(names):
        raise ValueError("each run needs a name")
    runs = [Side(trace) for trace in traces]
    return Differences(
        names=tuple(names),
        figures=figures(traces, prices),
        items=tuple(_items(runs)),
        marks=tuple(_marks(runs, place) for place in range(len(runs))),
    )


def table(found: Differences) -> tuple[list[str], list[list[Value]]]:
    """Columns and rows of a file: the figures, then every item, with one column a run."""
    columns = ["kind", "what", "where", *found.names]
    rows: list[list[Value]] = [["figure", each.label, each.unit, *each.values] for each in found.figures]
    rows += [[each.kind, each.what, each.where, *each.states] for each in found.items]
    return columns, rows


# Figures


def figures(traces: Sequence[Trace], prices: Prices = PRICES) -> tuple[Figure, ...]:
    """What each run came to and took, finished or not."""
    runs = [Side(trace) for trace in traces]
    sums = [sum_calls(trace.calls, prices) for trace in traces]

    def figure(name: str, label: str, of: Callable[[Side], Value], unit: Literal["", "s", "$", "share"] = "") -> Figure:
        return Figure(name=name, label=label, values=tuple(of(run) for run in runs), unit=unit)

    forced = any(trace.decision and trace.decision.instead_of for trace in traces)
    return (
        figure("answer", "Answer", lambda run: run.trace.outcome or None),
        figure("action", "Documents", lambda run: run.trace.action),
        *([figure("scores_say", "The scores say", _scores_say)] if forced else []),
        figure("score", "Score that decided", lambda run: run.trace.decision.score if run.trace.decision else None),
        figure("retrievals", "Searches of the library", lambda run: len(run.trace.rounds)),
        figure("chunks", "Chunks found", lambda run: len(run.trace.round.chunks) if run.trace.round else 0),
        figure("chunks_used", "Chunks used", lambda run: _count(run, Chunk)),
        figure("searches", "Web searches", lambda run: len(run.trace.searches)),
        figure("pages_used", "Web pages used", lambda run: _count(run, WebPage)),
        figure("words", "Words kept", lambda run: sum(count_words(strip.text) for strip in run.kept)),
        *([figure("short", "Short answer", _short)] if any(run.answer and run.answer.brief for run in traces) else []),
        figure("sources", "Sources cited", lambda run: _of_answer(run, len(run.cited))),
        figure("sentences", "Sentences", lambda run: _of_answer(run, len(run.said))),
        figure("faithfulness", "Faithfulness", lambda run: run.trace.faithfulness, "share"),
        figure("seconds", "Time", lambda run: run.trace.seconds, "s"),
        figure("remembered", "Remembered", lambda run: run.trace.remembered),
        Figure(name="calls", label="Model calls", values=tuple(each.calls - each.searches for each in sums)),
        Figure(name="tokens", label="Tokens", values=tuple(each.input_tokens + each.output_tokens for each in sums)),
        Figure(
            name="cost",
            label="Cost",
            values=tuple(None if each.unknown and not each.dollars else each.dollars for each in sums),
            unit="$",
        ),
    )


def _short(run: Side) -> Value:
    answer = run.trace.answer
    return (answer.brief or None) if answer else None


def _scores_say(run: Side) -> Value:
    decision = run.trace.decision
    return (decision.instead_of or decision.action) if decision else None


def _count(run: Side, kind: type) -> int:
    return sum(1 for key in run.used if isinstance(run.sources[key], kind))


def _of_answer(run: Side, number: int) -> Value:
    """What is counted of an answer; nothing where another program writes it."""
    return None if run.trace.handed_over else number


# Items


def _items(runs: Sequence[Side]) -> Iterator[Item]:
    """Chunks, then pages, then sentences of the answers."""
    found = {key: source for run in reversed(runs) for key, source in run.sources.items()}
    chunks = {key: (each.text, _where(each)) for key, each in found.items() if isinstance(each, Chunk)}
    pages = {key: (each.title, _where(each)) for key, each in found.items() if isinstance(each, WebPage)}
    yield from _differing(runs, "chunk", chunks, Side.state)
    yield from _differing(runs, "page", pages, Side.state)
    said = {key: (sentence, "answer") for run in runs for key, (sentence, _) in run.said.items()}
    yield from _differing(runs, "sentence", said, Side.says)


def _differing(
    runs: Sequence[Side], kind: Kind, named: Mapping[Key, tuple[str, str]], state: Callable[[Side, Key], str]
) -> Iterator[Item]:
    """Of these, each with what it is and where, those that the runs do not treat alike, as far as that can be said."""
    for key, (what, where) in named.items():
        states = tuple(state(run, key) for run in runs)
        if len({*states} - {ALONE}) > 1:
            yield Item(kind=kind, what=what, where=where, states=states)


# Marks


def _marks(runs: Sequence[Side], place: int) -> Marks:
    run = runs[place]
    others = {number: other for number, other in enumerate(runs) if number != place}
    answers = {number: other for number, other in others.items() if other.answers}

    def elsewhere(state: str, own: Collection[str]) -> dict[str, Places]:
        """Of our own sources with one of these keys, by id, the other runs in which they have this state."""
        found = {
            run.sources[key].id: tuple(n for n, other in others.items() if other.state(key) == state) for key in own
        }
        return {id: places for id, places in found.items() if places}

    cited = {
        each.number: tuple(n for n, other in answers.items() if citation_place(each) not in other.cited)
        for each in run.citations
    }
    alone = [strip for strip in run.kept if not any(other.keeps(strip) for other in others.values())]
    return Marks(
        found=elsewhere("not found", run.sources),
        used=elsewhere("not used", run.used),
        unused=elsewhere("used", run.sources.keys() - run.used),
        strips=frozenset(strip.id for strip in alone if others and not run.whole(strip)),
        sources={number: places for number, places in cited.items() if places},
        sentences=tuple(
            span
            for key, (_, span) in run.said.items()
            if answers and not any(key in other.said for other in answers.values())
        ),
    )


def _where(source: Chunk | WebPage) -> str:
    return ", ".join(filter(None, (source.source, source.where))) if isinstance(source, Chunk) else source.url


# One run


class Side:
    """What is compared of one run. Chunks are known by id, web pages by address."""

    def __init__(self, trace: Trace) -> None:
        here = trace.round
        self.trace = trace
        self.sources: dict[str, Chunk | WebPage] = (
            {found.chunk.id: found.chunk for found in here.chunks} if here else {}
        )
        self.sources.update({page.url: page for page in trace.pages})
        self.by_id = {source.id: key for key, source in self.sources.items()}
        self.kept = tuple(strip for strip in trace.kept() if strip.source_id in self.by_id)
        self.used = {self.by_id[strip.source_id] for strip in self.kept}
        self.spans: dict[str, list[tuple[int, int]]] = {}
        for strip in self.kept:
            self.spans.setdefault(strip.source_id, []).append((strip.start, strip.end))
        self.answers = not trace.handed_over
        answer = trace.answer
        self.citations: tuple[Citation, ...] = answer.citations if answer else ()
        self.cited = {citation_place(citation) for citation in self.citations}
        self.said = {} if answer is None or answer.abstained else _sentences_of(answer.text)

    def says(self, sentence: str) -> str:
        """Whether this run's answer has a sentence, where the answer is its own."""
        return ("said" if sentence in self.said else "not said") if self.answers else ALONE

    def state(self, key: str) -> str:
        """What became of a chunk or page."""
        return "used" if key in self.used else "not used" if key in self.sources else "not found"

    def keeps(self, strip: Strip) -> bool:
        """Whether at least half of the strip's characters are kept here, however this run cut them."""
        spans = self.spans.get(strip.source_id, ())
        shared = sum(max(0, min(end, strip.end) - max(start, strip.start)) for start, end in spans)
        return shared >= _HALF * (strip.end - strip.start) and shared > 0

    def whole(self, strip: Strip) -> bool:
        """Whether it is all of its source, taken as it is: then what is said of the source says enough."""
        return strip.start == 0 and strip.end >= len(self.source(strip).text)

    def source(self, strip: Strip) -> Chunk | WebPage:
        """What a kept strip was cut from."""
        return self.sources[self.by_id[strip.source_id]]


def citation_place(citation: Citation) -> tuple[str, int | None]:
    """What a citation points to, coarsely: the page of a file, or the web page."""
    return (citation.url or citation.source, citation.page)


def _sentences_of(answer: str) -> dict[str, tuple[str, tuple[int, int]]]:
    """An answer's sentences by what they say, letter case and punctuation apart, with where they stand."""
    found: dict[str, tuple[str, tuple[int, int]]] = {}
    for start, end in sentences(answer):
        before, marks = _MARKS_HERE.match(answer, start, end), _MARKS_HERE.match(answer, end)
        start = before.end() if before else start  # those of the sentence before it
        start += len(answer[start:end]) - len(answer[start:end].lstrip())
        said = _MARKS.sub("", answer[start:end]).strip()
        key = " ".join(words(said))
        if key:
            found.setdefault(key, (said, (start, marks.end() if marks else end)))
    return found
