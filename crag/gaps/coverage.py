"""What a library's documents do not cover: the questions that people asked and that ended INCORRECT, grouped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from crag.core.protocols import Embedder
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import Action, Document, WebPage
from crag.gaps.keeping import cited_pages, in_library
from crag.gaps.likeness import alike, groups
from crag.library.library import Library
from crag.library.runs import RunSummary

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

    Runs of evaluations, of a forced action, and those asked of a part of the library alone or of another store are no
    gaps of it.
    """
    ended = [run for run in library.runs.latest(RUNS) if run.action]
    whole = _whole(library, [run for run in ended if run.action == Action.INCORRECT])
    if not whole:
        return []
    newest = [run for run in ended if run.action != Action.INCORRECT or run.run_id in whole]
    # Of equally central questions the one that was asked most often stands for all, then the first.
    times = Counter(run.question for run in reversed(newest))
    questions = [question for question, _ in times.most_common()]
    near = alike(questions, embedder)
    missed = [place for place, each in enumerate(questions) if _of(each, newest, Action.INCORRECT)]
    found = []
    for group in groups(near[missed][:, missed]):
        inside = [questions[missed[place]] for place in group]
        like = {questions[place] for place in near[missed[group[0]]].nonzero()[0]}
        found.append(_gap(inside, like, newest, library))
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


def _gap(inside: Sequence[str], like: set[str], newest: Sequence[RunSummary], library: Library) -> Gap:
    """The gap of some questions, the most central first; `like`: all questions that are like that one."""
    runs = [run for run in newest if run.question in inside and run.action == Action.INCORRECT]
    return Gap(
        question=inside[0],
        others=tuple(inside[1:]),
        asked=len(runs),
        last=runs[0].started_at,
        runs=tuple(run.run_id for run in runs),
        vias=tuple(dict.fromkeys(run.via for run in runs)),
        closed_by=next(_answered(newest, {*inside, *like}, library), ""),
    )


def _answered(newest: Sequence[RunSummary], like: set[str], library: Library) -> Iterator[str]:
    """The runs of like questions that the documents answered after the last one that they did not, newest first."""
    for run in newest:
        if run.question not in like:
            continue
        if run.action == Action.INCORRECT:
            return
        if _whole(library, [run]):
            yield run.run_id


def _of(question: str, runs: Sequence[RunSummary], action: Action) -> bool:
    return any(run.question == question and run.action == action for run in runs)


def _whole(library: Library, runs: Sequence[RunSummary]) -> set[str]:
    """Those of these runs that acted as the scores said, on the whole library and nothing else."""
    found = set()
    for trace in library.runs.traces([run.run_id for run in runs]):
        if isinstance(trace, Trace):
            settings = Settings.stored(trace.settings).settings
            if not settings.forced and not settings.where and not trace.elsewhere:
                found.add(trace.run_id)
    return found
