"""A library's projection: where its chunks and past questions lie on the map, and what the map shows beside them.

The file holds numbers alone, no word and no vector of a document, so nothing that was deleted can be read from it.
"""

from __future__ import annotations

import hashlib
import io
import logging
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crag.analysis.atlas import layout
from crag.analysis.atlas.layout import Indices, Points, Progress
from crag.analysis.gaps import RUNS, cited_pages
from crag.core.errors import IndexUnavailableError, LibraryError, ModelMismatchError, NotFoundError, StorageError
from crag.core.metadata import days_in, fields_of
from crag.core.protocols import SearchQuery
from crag.core.trace import Trace
from crag.core.types import Document, WebPage
from crag.index.chunk_index import Numbers, Vectors
from crag.storage.library import Library
from crag.storage.runs import RunSummary
from crag.storage.values import KeyValueStore
from crag.text.words import STOP_WORDS, words

FILE = "map.npz"
VERSION = 1
LANDMARKS = 10_000
"""Chunks that are laid out; all others are placed among them."""
MOST = 200_000
"""Chunks on a map. Of a larger library every second one is shown, or every third, and so on."""
NEAR, ALIKE = 0.95, 0.7
"""Near-duplicates have a cosine of at least this, and share this part of the words that either has."""
_PAIRS = 2_000
_FOUND = 4 * layout.ANCHORS
"""Chunks that a question's place is taken from, should most of them not be on the map."""
_GROWN, _LEFT = 1.5, 0.75
"""A map is laid out again when the library has grown by this factor, or when fewer of its landmarks are left."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Projection:
    """Where n chunks and m past questions lie.

    `made_of` names the library, the model of its vectors and the version of this layout. `numbers` (n,) are those of
    the chunks, ascending, `points` (n, 2) their places, `clusters` (n,) their clusters from 0. `landmarks` (n,):
    whether a chunk was laid out, and not placed among others; `laid`: how many chunks there were then. `pairs` (p, 2):
    numbers of near-duplicates. `asked` (m,): hashes of questions, `asked_points` (m, 2) their places, `nearest` (m,)
    the similarity of the nearest chunk.
    """

    made_of: str
    numbers: Numbers
    points: Points
    clusters: NDArray[np.int16]
    landmarks: NDArray[np.bool_]
    laid: int
    pairs: Indices
    asked: Numbers
    asked_points: Points
    nearest: NDArray[np.float32]

    def changed(self, library: Library) -> int:
        """How many chunks were added or deleted since it was made."""
        return len(np.setxor1d(self.numbers, _shown_numbers(library), assume_unique=True))


def load(library: Library) -> Projection | None:
    """The kept projection; None where there is none, it is damaged, or of another library, model or version."""
    try:
        data = KeyValueStore(library.folder).read(FILE)
        if data is None:
            return None
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            values: dict[str, Any] = {name: file[name] for name in Projection.__slots__}
        found = Projection(**{**values, "made_of": str(values["made_of"]), "laid": int(values["laid"])})
        sizes = {len(found.numbers), len(found.points), len(found.clusters), len(found.landmarks)}
        asked = {len(found.asked), len(found.asked_points), len(found.nearest)}
        if len(sizes) > 1 or len(asked) > 1:
            raise ValueError("parts of different lengths")
    except (StorageError, OSError, EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        _log.warning("the map of a library can't be read and is made again: %s", error)
        return None
    return found if found.made_of == _identity(library) else None


def refresh(library: Library, progress: Progress = layout._no_progress) -> Projection:
    """The projection as the library is now, from the kept one where that still serves; kept where that can be done.

    Old chunks stay where they are while new ones are placed among them. Raises StorageError, and what `progress` does.
    """
    before, numbers = load(library), _shown_numbers(library)
    if before is None or not np.array_equal(before.numbers, numbers):
        now = _with_chunks(library, before, numbers, progress)
    else:
        now = before
    now = _with_questions(library, now)
    if now is not before and len(numbers):
        _keep(library, now)
    return now


def question_key(question: str) -> int:
    """What a question is known by in the file."""
    return int.from_bytes(hashlib.sha256(question.encode("utf-8", "replace")).digest()[:8], signed=True)


def _identity(library: Library) -> str:
    contents, _ = library.points.standing()
    return f"{contents.library} {contents.model} {contents.dimension} {VERSION}"


def _shown_numbers(library: Library) -> Numbers:
    numbers = library.points.numbers()
    return numbers[numbers % -(-len(numbers) // MOST) == 0] if len(numbers) > MOST else numbers


def _with_chunks(library: Library, before: Projection | None, numbers: Numbers, progress: Progress) -> Projection:
    """With exactly these chunks. No question is placed yet: each new chunk may be the nearest of any."""
    vectors = library.points.vectors(numbers)
    if before is None or _outgrown(before, numbers):
        laid, (points, clusters, marks) = len(numbers), _laid_out(vectors, progress)
    else:
        laid, (points, clusters, marks) = before.laid, _followed(before, vectors, numbers)
    progress(0.95)
    return Projection(
        made_of=_identity(library),
        numbers=numbers,
        points=points,
        clusters=clusters,
        landmarks=marks,
        laid=laid,
        pairs=_duplicates(library, numbers, vectors),
        asked=np.zeros(0, np.int64),
        asked_points=np.zeros((0, 2), np.float32),
        nearest=np.zeros(0, np.float32),
    )


def _outgrown(before: Projection, numbers: Numbers) -> bool:
    marks = before.numbers[before.landmarks]
    left = len(np.intersect1d(marks, numbers, assume_unique=True))
    return len(numbers) > _GROWN * before.laid or left < max(1, _LEFT * len(marks))


_Laid = tuple[Points, NDArray[np.int16], NDArray[np.bool_]]
"""Places, clusters and landmarks of chunks."""


def _laid_out(vectors: Vectors, progress: Progress) -> _Laid:
    count = len(vectors)
    marks = np.zeros(count, bool)
    marks[np.unique(np.linspace(0, count - 1, min(count, LANDMARKS)).astype(int))] = count > 0
    points, found = np.zeros((count, 2), np.float32), np.zeros(count, np.int16)
    points[marks] = layout.lay_out(vectors[marks], lambda share: progress(0.9 * share))
    found[marks] = layout.clusters(vectors[marks]) if count else found
    if not marks.all():
        points[~marks], found[~marks] = _among(vectors[~marks], vectors[marks], points[marks], found[marks])
    return points, found, marks


def _followed(before: Projection, vectors: Vectors, numbers: Numbers) -> _Laid:
    """The same without the chunks that are gone, and with the new ones among the landmarks."""
    _, here, there = np.intersect1d(numbers, before.numbers, assume_unique=True, return_indices=True)
    points, found = np.zeros((len(numbers), 2), np.float32), np.zeros(len(numbers), np.int16)
    marks = np.zeros(len(numbers), bool)
    points[here], found[here], marks[here] = before.points[there], before.clusters[there], before.landmarks[there]
    new = np.ones(len(numbers), bool)
    new[here] = False
    if new.any():
        points[new], found[new] = _among(vectors[new], vectors[marks], points[marks], found[marks])
    return points, found, marks


def _among(
    vectors: Vectors, landmarks: Vectors, points: Points, found: NDArray[np.int16]
) -> tuple[Points, NDArray[np.int16]]:
    """Places and clusters of vectors among landmarks, each with a place and a cluster."""
    placed, nearest = layout.place(vectors, layout.flat_index(landmarks), points)
    return placed, found[nearest]


def _duplicates(library: Library, numbers: Numbers, vectors: Vectors) -> Indices:
    """Numbers of chunks that say nearly the same in nearly the same words, not one after the other."""
    rows = layout.near_pairs(vectors, NEAR, _PAIRS) if len(vectors) > 1 else np.zeros((0, 2), np.int64)
    pairs = numbers[rows]
    texts = library.points.texts(np.unique(pairs).tolist())
    said = {number: set(words(text)) for number, text in texts.items()}
    apart = [
        (one, other)
        for one, other in pairs.tolist()
        if other - one > 1 and len(said[one] & said[other]) >= ALIKE * len(said[one] | said[other])
    ]
    return np.array(apart, np.int64).reshape(-1, 2)


def _with_questions(library: Library, now: Projection) -> Projection:
    """With the latest questions that are not placed yet, each at the weighted mean of the chunks nearest to it.

    Without new ones where another model made the vectors, or the chunk index fails: the next time tries again.
    """
    latest = dict.fromkeys(run.question for run in library.runs.latest(RUNS))
    known = set(now.asked.tolist())
    new = [question for question in latest if question.strip() and question_key(question) not in known]
    if not new or not len(now.numbers):
        return now
    try:
        placed = [_place(library, now, question) for question in new]
    except (ModelMismatchError, IndexUnavailableError) as error:
        _log.warning("past questions are not placed on the map: %s", error.message)
        return now
    found = [(question_key(question), *each) for question, each in zip(new, placed, strict=True) if each]
    return replace(
        now,
        asked=np.concatenate([now.asked, np.array([key for key, _, _ in found], np.int64)]),
        asked_points=np.concatenate([now.asked_points, *[point for _, point, _ in found]]),
        nearest=np.concatenate([now.nearest, np.array([near for _, _, near in found], np.float32)]),
    )


def _place(library: Library, now: Projection, question: str) -> tuple[Points, float] | None:
    """A question's place (1, 2) and its similarity to the nearest chunk; None where no chunk near it is on the map."""
    hits = library.find(SearchQuery(question, _FOUND, mode="dense"))
    numbers = library.points.numbered([hit.chunk.id for hit in hits])
    near = {numbers[hit.chunk.id]: hit.dense for hit in hits if hit.dense is not None and hit.chunk.id in numbers}
    rows, at = np.intersect1d(now.numbers, np.array(list(near), np.int64), return_indices=True)[1:]
    if not len(rows):
        return None
    similar = np.array(list(near.values()), np.float32)[at]
    best = np.argsort(-similar)[: layout.ANCHORS]
    return layout.weigh(similar[best][None], now.points[rows[best]][None]), float(similar[best[0]])


def _keep(library: Library, made: Projection) -> None:
    """Keep it for the next time; where that can't be done, the next time makes it again."""
    data = io.BytesIO()
    np.savez_compressed(data, **{name: getattr(made, name) for name in Projection.__slots__})
    try:
        KeyValueStore(library.folder).put(FILE, data.getvalue())
    except LibraryError as error:
        _log.warning("the map of a library can't be kept: %s", error.message)


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


def document_days(library: Library, documents: Sequence[Document]) -> dict[str, str]:
    """The day that each document is of, ISO 8601, by its id: its date where it has one, else the day it was added."""
    given = library.documents.given()
    days = {}
    for document in documents:
        dated = days_in(str(fields_of(document, given.get(document.id, {})).get("date", "")))
        days[document.id] = dated[0] if dated else document.added_at[:10]
    return days
