"""What a map shows beside its points, as facts: clusters' words, past questions and holes, scores, contradictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crag.analysis.atlas.layout import Points
from crag.analysis.atlas.projection import Projection, question_key
from crag.analysis.gaps import RUNS, cited_pages
from crag.core.errors import NotFoundError, StorageError
from crag.core.metadata import days_in, fields_of
from crag.core.trace import Trace
from crag.core.types import Document, WebPage
from crag.storage.library import Library
from crag.storage.runs import RunSummary
from crag.text.words import STOP_WORDS, words

_READ = 80
"""Texts of a cluster that its words are taken from, evenly over all."""
_SHORTEST, _WORDS, _STEM = 4, 2, 5
_JUDGED, _FAR = 10, 0.05
"""Questions that the documents answered, at least, before distance alone makes a hole; and the share of them that lies
farther than the line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A past question: its latest `run`, the `action` it took ("" for none), its place (2,), whether it is a hole.

    `nearest`: the similarity of the nearest chunk.
    """

    text: str
    run: str
    action: str
    point: Points
    nearest: float
    hole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """What the sources of a run's answer disagree on: the value that each chunk gives, by the chunk's number."""

    run: str
    subject: str
    values: Mapping[int, str]


def cluster_words(
    texts: Mapping[int, str], numbers: NDArray[np.int64], clusters: NDArray[np.int16]
) -> list[tuple[str, ...]]:
    """The two most distinctive words of each cluster's chunks, by the share of its texts that have them and how rare
    they are in the other clusters. `numbers` and `clusters` (n,) as in `Projection`; `texts` by these numbers.
    """
    members = [numbers[clusters == each] for each in range(int(clusters.max(initial=-1)) + 1)]
    read = [own[:: -(-len(own) // _READ)].tolist() if len(own) else [] for own in members]
    shares = [_shares([texts[number] for number in own if number in texts]) for own in read]
    everywhere = Counter[str]()
    for share in shares:
        everywhere.update(share)
    total = len(shares)
    named = []
    for share in shares:
        weight = {word: each * np.log(1 + total / everywhere[word]) ** 2 for word, each in share.items()}
        best: dict[str, str] = {}
        for word in sorted(weight, key=lambda word: (-weight[word], word)):
            best.setdefault(word[:_STEM], word)
        named.append(tuple(best.values())[:_WORDS])
    return named


def _shares(texts: Sequence[str]) -> dict[str, float]:
    """The share of the texts that has each word that says something."""
    having = Counter[str]()
    for text in texts:
        having.update({word for word in words(text) if len(word) >= _SHORTEST and word.isalpha()} - STOP_WORDS)
    return {word: count / len(texts) for word, count in having.items() if count > 1 or len(texts) < _SHORTEST}


def past_questions(library: Library, projection: Projection) -> list[Question]:
    """The latest questions that are placed, newest first, each once.

    A hole is a question that the documents did not answer, farther from any chunk than nineteen of twenty that they
    did; where fewer than ten were answered, every question that the whole library did not answer.
    """
    latest: dict[str, RunSummary] = {}
    for run in library.runs.latest(RUNS):
        latest.setdefault(run.question, run)
    facts = library.facts.of([run.run_id for run in latest.values()])
    rows = {key: row for row, key in enumerate(projection.asked.tolist())}
    placed = {text: (run, rows[key]) for text, run in latest.items() if (key := question_key(text)) in rows}
    answered = [
        float(projection.nearest[row])
        for run, row in placed.values()
        if (fact := facts.get(run.run_id)) is not None and fact.covered
    ]
    line = float(np.quantile(answered, _FAR)) if len(answered) >= _JUDGED else np.inf
    found = []
    for text, (run, row) in placed.items():
        fact, nearest = facts.get(run.run_id), float(projection.nearest[row])
        found.append(
            Question(
                text=text,
                run=run.run_id,
                action=run.action,
                point=projection.asked_points[row],
                nearest=nearest,
                hole=fact is not None and fact.gap and nearest < line,
            )
        )
    return found


def web_pages(library: Library, question: Question) -> tuple[WebPage, ...]:
    """The web pages that the answer of its latest run cites; none where that run is gone or can't be read."""
    try:
        return cited_pages(library.runs.trace(question.run))
    except (NotFoundError, StorageError):
        return ()


def scores(library: Library, trace: Trace) -> dict[int, float]:
    """The relevance score 0..1 of each chunk that a run acted on, by number; of chunks that are gone, none."""
    grades = trace.round.grades if trace.round else {}
    scored = {id: grade.score for id, grade in grades.items() if grade.score is not None}
    return {number: scored[id] for id, number in library.points.numbered(list(scored)).items()}


def contradictions(library: Library) -> list[Contradiction]:
    """What the answers of the latest runs say that sources disagree on, where two chunks or more are still here."""
    latest = [run.run_id for run in library.runs.latest(RUNS)]
    found: dict[tuple[str, tuple[int, ...]], Contradiction] = {}
    for trace in library.runs.traces(library.points.disagreeing(latest)):
        if not isinstance(trace, Trace) or trace.answer is None:
            continue
        sources = {citation.number: citation.source_id for citation in trace.answer.citations}
        numbers = library.points.numbered(list(sources.values()))
        for each in trace.answer.disagreements:
            named = [(sources.get(value.citation, ""), value.value) for value in each.values]
            values = {numbers[source]: value for source, value in named if source in numbers}
            if len(values) > 1:
                key = each.subject, tuple(sorted(values))
                found.setdefault(key, Contradiction(run=trace.run_id, subject=each.subject, values=values))
    return list(found.values())


def document_days(library: Library, documents: Sequence[Document]) -> dict[str, str]:
    """The day that each document is of, ISO 8601, by its id: its date where it has one, else the day it was added."""
    given = library.documents.given()
    days = {}
    for document in documents:
        dated = days_in(str(fields_of(document, given.get(document.id, {})).get("date", "")))
        days[document.id] = dated[0] if dated else document.added_at[:10]
    return days
