"""What a library's documents do not cover: the questions that people asked and that they left unanswered, grouped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from crag.analysis.gaps.keeping import cited_pages, in_library
from crag.analysis.gaps.likeness import alike, groups
from crag.core.protocols import Embedder
from crag.core.trace import Trace
from crag.core.types import Document, WebPage
from crag.storage.library import Library
from crag.storage.runs import RunSummary

RUNS = 300
"""So many of the latest runs are looked at."""
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
    library.facts.fill(RUNS)
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
    for trace in library.runs.traces(gap.runs[:_RUNS_READ]):
        if isinstance(trace, Trace):
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
