"""Gaps in a library: questions that its documents do not answer, and web pages kept to fill them."""

from __future__ import annotations

import re
import threading
import time
import unicodedata
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from crag.core.errors import InputError, NotFoundError
from crag.core.metadata import KEPT_CONFIDENCE, KEPT_SOURCE, Value, days_in
from crag.core.protocols import Embedder, embed_question
from crag.core.trace import Trace
from crag.core.types import Document, WebPage
from crag.ingest.chunking import chunk_document
from crag.ingest.files import content_id, record_of, safe_name
from crag.ingest.reader import read_document
from crag.storage.library import Library
from crag.storage.runs import RunSummary

if TYPE_CHECKING:
    from crag.engine import Engine

LIKE = 0.7
"""Questions whose vectors' cosine is at least this are alike; how that was found: docs/decisions/keeping.md."""

_NUMBER = re.compile(r"\d+")
_NAME = re.compile(r"(?<=\S\s)\W*([^\W\d_]\w+)")


def alike(questions: Sequence[str], embedder: Embedder) -> NDArray[np.bool_]:
    """Whether each of n questions asks for the same as each other, (n, n), symmetric, and with itself always.

    Beside near vectors it takes the same numbers, and of two that both name something (a word with a capital letter
    that does not open the question) one name in common: "in 2017" is not "in 2019", Wausau is not Denver.
    """
    vectors = np.stack([embed_question(embedder, question) for question in questions])
    near = vectors @ vectors.T >= LIKE
    numbers = [sorted(_NUMBER.findall(question)) for question in questions]
    names = [_names(question) for question in questions]
    for row, column in zip(*np.nonzero(np.triu(near, 1)), strict=True):
        apart = names[row] and names[column] and not names[row] & names[column]
        if numbers[row] != numbers[column] or apart:
            near[row, column] = near[column, row] = False
    np.fill_diagonal(near, True)
    return near


def groups(near: NDArray[np.bool_]) -> list[list[int]]:
    """The n questions in groups, the most central question of each first: the one that most of those left are like.

    Each question is in one group, with the one that heads it; of equals the first.
    """
    left = np.ones(len(near), bool)
    found = []
    while left.any():
        counts = (near & left).sum(axis=1) * left
        head = int(np.argmax(counts))
        members = np.flatnonzero(near[head] & left)
        found.append([head, *(int(each) for each in members if each != head)])
        left[members] = False
    return found


def _names(question: str) -> set[str]:
    return {word.casefold() for word in _NAME.findall(" ".join(question.split())) if word[0].isupper()}


RUNS = 300
"""How many of the latest runs are looked at."""
_PAGES, _RUNS_READ = 5, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Questions that ask for the same and found no answer in the documents.

    `question` is the most central, `others` are those worded otherwise. It was asked `asked` times in vain, the last
    time at `last` (ISO 8601, UTC), in `runs`, newest first, which came in by `vias` (see `RunStarted`). `closed_by`:
    the latest run of a like question, where the documents have answered it since.
    """

    question: str
    others: tuple[str, ...]
    asked: int
    last: str
    runs: tuple[str, ...]
    vias: tuple[str, ...] = ()
    closed_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPage:
    """A web page that the answer of `run` cites. `document`: what it is kept as; None: it could be kept."""

    run: str
    page: WebPage
    document: Document | None = None


def gaps(library: Library, embedder: Embedder) -> list[Gap]:
    """The gaps of the latest runs: open ones first, then those asked most often, then the latest.

    `RunFacts.gap` says what a gap is. Runs of evaluations, of a forced action, and those asked of a part of the library
    or of another store are none.
    """
    latest = library.runs.latest(RUNS)
    facts = library.facts.of([run.run_id for run in latest])
    open_ones = {id for id, each in facts.items() if each.gap}
    covered = {id for id, each in facts.items() if each.covered}
    if not open_ones:
        return []
    newest = [run for run in latest if run.run_id in open_ones or run.run_id in covered]
    # Of equally central questions the one that was asked most often stands for all, then the first.
    times = Counter(run.question for run in reversed(newest))
    questions = [question for question, _ in times.most_common()]
    near = alike(questions, embedder)
    in_vain = {run.question for run in newest if run.run_id in open_ones}
    missed = [place for place, each in enumerate(questions) if each in in_vain]
    found = []
    for group in groups(near[missed][:, missed]):
        inside = [questions[missed[place]] for place in group]
        like = {questions[place] for place in near[missed[group[0]]].nonzero()[0]}
        found.append(_gap(inside, like, newest, open_ones))
    by_last = sorted(found, key=lambda gap: gap.last, reverse=True)
    return sorted(by_last, key=lambda gap: (bool(gap.closed_by), -gap.asked))


def found_pages(library: Library, gap: Gap) -> list[FoundPage]:
    """The web pages that the answers of its latest runs cite, those first that are not kept; at most five."""
    found: dict[str, FoundPage] = {}
    for trace in library.runs.readable(gap.runs[:_RUNS_READ]):
        for page in cited_pages(trace):
            found.setdefault(page.text, FoundPage(run=trace.run_id, page=page))
    kept = in_library([each.page for each in found.values()], library)
    marked = [replace(each, document=kept.get(each.page.id)) for each in found.values()]
    return sorted(marked, key=lambda each: each.document is not None)[:_PAGES]


def _gap(inside: Sequence[str], like: set[str], newest: Sequence[RunSummary], open_ones: Set[str]) -> Gap:
    """The gap of some questions, the most central first; `like`: all questions that are like that one."""
    runs = [run for run in newest if run.question in inside and run.run_id in open_ones]
    return Gap(
        question=inside[0],
        others=tuple(inside[1:]),
        asked=len(runs),
        last=runs[0].started_at,
        runs=tuple(run.run_id for run in runs),
        vias=tuple(dict.fromkeys(run.via for run in runs)),
        closed_by=_closing(newest, {*inside, *like}, open_ones),
    )


def _closing(newest: Sequence[RunSummary], like: Set[str], open_ones: Set[str]) -> str:
    """The latest run of a like question, where the documents answered it; else nothing."""
    latest = next(run.run_id for run in newest if run.question in like)
    return "" if latest in open_ones else latest


_MOST_QUESTION = 1_000
_PARTS = re.compile(r"(?<!\s)\s*+[|:]\s++")
"""What parts a page's title and can't stand in a file's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPage:
    """What came of keeping a page. `already`: its text was in the library, maybe under another name."""

    page: WebPage
    document: Document
    already: bool


def used_pages(trace: Trace) -> tuple[WebPage, ...]:
    """The web pages that a run's answer may rest on, in their order; none of a run that led to none.

    Those that were handed over too: the answer rests on them, whichever program writes it.
    """
    used = {strip.source_id for strip in trace.kept("external")}
    return tuple(page for page in trace.pages if page.id in used) if trace.answer or trace.handed_over else ()


def cited_pages(trace: Trace) -> tuple[WebPage, ...]:
    """Those of them that its answer cites, in the order of its citations."""
    used = {page.id: page for page in used_pages(trace)}
    cited = dict.fromkeys(citation.source_id for citation in trace.answer.citations) if trace.answer else {}
    return tuple(used[id] for id in cited if id in used)


def pages_named(trace: Trace, said: str) -> tuple[WebPage, ...]:
    """The pages of a run that an address or id names; "all": those that its answer cites. Raises NotFoundError."""
    found = cited_pages(trace) if said == "all" else tuple(each for each in trace.pages if said in (each.url, each.id))
    if not found:
        missing = "cites no web page" if said == "all" else f"found no web page {said}"
        raise NotFoundError(f"The run {trace.run_id} {missing}.", "Choose one of the web sources that it lists.")
    return found[:1] if said != "all" else found


def in_library(pages: Sequence[WebPage], library: Library) -> dict[str, Document]:
    """The documents that hold the texts of these pages, by the pages' ids; those that are not kept are left out."""
    ids = {page.id: content_id(_bytes(page)) for page in pages}
    stored = {document.id: document for document in library.documents.all(list(set(ids.values())))}
    return {page: stored[id] for page, id in ids.items() if id in stored}


def keep(
    page: WebPage,
    question: str,
    library: Library,
    engine: Engine,
    *,
    confidence: float = KEPT_CONFIDENCE,
    cancel: threading.Event | None = None,
) -> KeptPage:
    """Add a page as a document, unverified, with the question that it served; once: what is there stays as it is.

    It is read as plain text whatever its text looks like, in the reader's child process, and waits for its turn among
    the engine's readers, as any file does. Raises InputError for a confidence outside 0..1, DocumentError, RoomError,
    ModelMismatchError, CancelledError.
    """
    if not 0 <= confidence <= 1:
        raise InputError(f"A confidence of {confidence:g} is not between 0 and 1.", "Give one from 0 to 1.")
    if known := in_library([page], library).get(page.id):
        return KeptPage(page=page, document=known, already=True)
    began, data = time.perf_counter(), _bytes(page)
    identity, name = content_id(data), safe_name(_PARTS.sub(" – ", page.title) or page.url)
    stop = cancel or threading.Event()
    with engine.readers.taken(stop):
        parsed = read_document(data, name, engine.config, media="text", cancel=stop)
    parsed = replace(parsed, title=_plain(page.title) or name)
    chunks = chunk_document(parsed, identity, name)
    vectors = engine.embedder.embed([chunk.indexed_text for chunk in chunks])
    record = record_of(
        parsed,
        chunks,
        id=identity,
        name=name,
        size=len(data),
        model=engine.embedder.id,
    )
    seconds = round(time.perf_counter() - began, 3)
    document = replace(record, url=page.url, seconds=seconds, confidence=confidence)
    library.documents.add(document, data, chunks, vectors, _describe_page(page, question))
    library.refresh_index()
    return KeptPage(page=page, document=document, already=False)


def verify(library: Library, document: str) -> None:
    """Note that a person has looked at a document, by its id, and found it right. Raises NotFoundError."""
    library.documents.describe(document, {"verified": True})


def _bytes(page: WebPage) -> bytes:
    return page.text.encode("utf-8", "replace")


def _describe_page(page: WebPage, question: str) -> dict[str, Value]:
    """What is known of a kept page, as fields that a person sees, changes and filters by."""
    given: dict[str, Value] = {"source": KEPT_SOURCE, "verified": False}
    if asked := _plain(question)[:_MOST_QUESTION].strip():
        given["question"] = asked
    published = page.published or ""
    if day := next((published[:size] for size in (10, 7, 4) if days_in(published[:size])), ""):
        given["date"] = day
    return given


def _plain(text: str) -> str:
    """One line without control characters, as a field takes it."""
    line = " ".join(unicodedata.normalize("NFC", text).split())
    return "".join(letter for letter in line if unicodedata.category(letter) not in ("Cc", "Cs"))
