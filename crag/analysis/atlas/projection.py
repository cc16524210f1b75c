"""A library as points in the plane: its chunks by topic, and past questions among them. It holds no text of a chunk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crag.analysis.atlas import layout
from crag.analysis.atlas.layout import Plane, Points, Topics
from crag.analysis.gaps import RUNS
from crag.index.chunk_index import Numbers
from crag.storage.library import Library
from crag.storage.runs import RunSummary
from crag.text.words import STOP_WORDS, words

MOST = 200_000
"""Chunks on a map. Of a larger library every second one is shown, or every third, and so on."""
_PART = 20_000
"""Chunks that the plane is fitted to, evenly over all, and chunks that are placed at once."""
_READ = 80
"""Texts of a topic that its words are taken from, evenly over all."""
_SHORTEST, _WORDS, _STEM = 4, 2, 5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Projection:
    """Where n chunks lie: their `numbers` (n,), ascending, `points` (n, 2), and `topics` (n,) from 0.

    `plane` places other vectors among them.
    """

    numbers: Numbers
    points: Points
    topics: Topics
    plane: Plane


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A past question: its latest `run`, the `action` it took ("" for none), its place (2,).

    `gap`: your documents did not answer it, see `RunFacts.gap`.
    """

    text: str
    run: str
    action: str
    point: Points
    gap: bool


def project(library: Library) -> Projection:
    """The projection of a library with two chunks or more. Raises StorageError."""
    numbers = _evenly(library.points.numbers(), MOST)
    plane = layout.fit(library.points.vectors(_evenly(numbers, _PART)))
    parts = [
        plane.place(library.points.vectors(numbers[start : start + _PART])) for start in range(0, len(numbers), _PART)
    ]
    points, topics = (np.concatenate(each) for each in zip(*parts, strict=True))
    return Projection(numbers=numbers, points=points, topics=topics, plane=plane)


def _evenly(numbers: Numbers, most: int) -> Numbers:
    return numbers[:: max(1, -(-len(numbers) // most))]


def past_questions(
    library: Library, projection: Projection, embed: Callable[[str], NDArray[np.float32]]
) -> list[Question]:
    """The latest questions, newest first, each once. `embed` makes a question's vector (d,)."""
    latest: dict[str, RunSummary] = {}
    for run in library.runs.latest(RUNS):
        latest.setdefault(run.question, run)
    if not latest:
        return []
    points, _ = projection.plane.place(np.stack([embed(question) for question in latest]))
    facts = library.facts.of([run.run_id for run in latest.values()])
    return [
        Question(
            text=text,
            run=run.run_id,
            action=run.action,
            point=point,
            gap=run.run_id in facts and facts[run.run_id].gap,
        )
        for (text, run), point in zip(latest.items(), points, strict=True)
    ]


def topic_words(texts: Mapping[int, str], numbers: Numbers, topics: Topics) -> list[tuple[str, ...]]:
    """The two most distinctive words of each topic, by the share of its texts that have them and how rare they are in
    other topics. `numbers` (n,) and `topics` (n,) as in `Projection`; `texts` by these numbers.
    """
    shares = [
        _shares([texts[number] for number in _evenly(numbers[topics == each], _READ).tolist() if number in texts])
        for each in range(int(topics.max(initial=-1)) + 1)
    ]
    everywhere = Counter[str]()
    for share in shares:
        everywhere.update(share)
    named = []
    for share in shares:
        weight = {word: each * np.log(1 + len(shares) / everywhere[word]) ** 2 for word, each in share.items()}
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
