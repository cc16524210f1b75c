"""Where the answers of a question set are lost: how far each expected place came in its run, stage by stage."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from crag.analysis.evaluate import question_set, rows
from crag.analysis.metrics.metrics import ResultRow, files_of, label_of, name_of, pages_of
from crag.analysis.questions.sets import Question
from crag.analysis.stages.miss import MIN_WORDS, Miss, Wanted, find_sentence, follow, has_sentence
from crag.core.trace import Trace
from crag.core.types import Chunk, Citation, Document
from crag.storage.library import Library
from crag.text.words import words

Step = Literal["library", "search", "grade", "evidence", "answer", "support"]
"""What an expected place has to pass, in order.

"library": a document has it, and its text was read. "search": the run retrieved it. "grade": it scored at least the
lower threshold, or nothing was graded one by one. "evidence": a strip of it was kept. "answer": the answer cites it, or
says an accepted answer. "support": no check found the sentences that cite it unsupported.
"""
STEPS: tuple[Step, ...] = get_args(Step)
LeftOut = Literal["no answer", "no place", "failed", "deleted"]
"""Why a question is not followed: it is labelled unanswerable, nothing says where its answer is, its run did not end,
or its run was deleted.
"""
_FATES = 8
"""Chunks of a place that are remembered of each question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """One question whose expected place was followed through its run.

    `lost`: the first step that it did not pass; None where it passed all. `supported`: what the checks say of the
    sentences that cite it; None where none was checked.
    """

    question_id: str
    question: str
    run_id: str
    miss: Miss
    lost: Step | None
    supported: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Funnel:
    """How many of the questions of one evaluation pass each step.

    `followed` questions have an expected place and a run; `left_out` counts the others. `passed` falls from step to
    step. `graded`: whether the runs graded chunks. `checked`: questions whose citing sentences were checked. `losses`
    are in the set's order.
    """

    followed: int
    passed: Mapping[Step, int]
    losses: tuple[Followed, ...]
    left_out: Mapping[LeftOut, int]
    graded: bool
    checked: int = 0

    @property
    def lost(self) -> dict[Step, int]:
        """Losses by step, those with none left out."""
        counts = Counter(each.lost for each in self.losses)
        return {step: counts[step] for step in STEPS if counts[step]}


def trace_funnel(library: Library, evaluation_id: str) -> Funnel:
    """The funnel of a stored evaluation.

    Each run is read once; the library is searched once for each place that a run did not retrieve. Raises
    NotFoundError, StorageError for a set that can't be read, and what `Search.find` raises.
    """
    record = library.evaluations.get(evaluation_id)
    questions = {each.id: each for each in question_set(library, record.set_id).questions}
    left_out: Counter[LeftOut] = Counter()
    waiting: dict[str, tuple[ResultRow, Question]] = {}
    for row in rows(library, evaluation_id):
        question = questions.get(row.question_id)
        reason: LeftOut | None = "failed" if row.problem else _left_out(question)
        if reason is not None or question is None:
            left_out[reason or "no place"] += 1
        else:
            waiting[row.run_id] = row, question
    named: defaultdict[str, list[str]] = defaultdict(list)
    for id, name in library.documents.names().items():
        named[name_of(name)].append(id)
    followed = []
    for trace in library.runs.readable(list(waiting)):
        row, question = waiting.pop(trace.run_id)
        miss = _explain(library, named, trace, question)
        if miss is None:
            left_out["no place"] += 1
        else:
            followed.append(_followed(trace, row, question, miss))
    left_out["deleted"] += len(waiting)
    return _fold(followed, left_out)


def _left_out(question: Question | None) -> LeftOut | None:
    label = label_of(question) if question is not None else None
    if question is None or label is None or (label == "source" and not files_of(question)):
        return "no place"
    return "no answer" if label == "unanswerable" else None


def _fold(followed: Sequence[Followed], left_out: Mapping[LeftOut, int]) -> Funnel:
    """How many pass each step, and what is lost where."""
    lost = Counter(each.lost for each in followed)
    return Funnel(
        followed=len(followed),
        passed={step: len(followed) - sum(lost[each] for each in STEPS[:at]) for at, step in enumerate(STEPS, 1)},
        losses=tuple(each for each in followed if each.lost is not None),
        left_out={reason: left_out[reason] for reason in get_args(LeftOut) if left_out.get(reason)},
        graded=any(each.miss.action is not None for each in followed),
        checked=sum(each.supported is not None for each in followed if each.lost in (None, "support")),
    )


# ---- one question --------------------------------------------------------------------------------------------------


def _explain(library: Library, named: Mapping[str, Sequence[str]], trace: Trace, question: Question) -> Miss | None:
    """What became of the expected place in a run; None where nothing says which place that is.

    Of several expected pages or documents that which came furthest. A place that the run retrieved is followed as the
    run saw it, also where its document was replaced or deleted since. `named`: ids of documents by `name_of`.
    """
    pages, names = pages_of(question), files_of(question)
    if not names:
        return _explain_text(library, trace, question)
    wanted: list[tuple[str, int | None]] = sorted(pages) if pages else [(name, None) for name in sorted(names)]
    document: Document | None = None
    chunks = [each.chunk for each in trace.chunks.values() if _is_at(each.chunk, wanted)]
    if not chunks:
        for name, page in wanted:
            for id in named.get(name, ()):
                document = library.documents.get(id)
                chunks += library.documents.chunks(id, page=page, lines=False)
    name, page = wanted[0]
    title = next((source for source in question.sources if name_of(source) == name), name)
    miss = follow(library, trace, Wanted(document=title, page=page), document, chunks, ranked=False)
    if not miss.fates:
        return miss
    best = miss.fates[0].chunk
    return replace(miss, document=None, wanted=Wanted(document=best.source, page=best.page if pages else None))


def _explain_text(library: Library, trace: Trace, question: Question) -> Miss | None:
    """Of the first accepted answer that is a whole sentence of a document; None where none is."""
    for answer in question.answers:
        if len(words(answer)) >= MIN_WORDS:
            chunks = [each.chunk for each in trace.chunks.values() if has_sentence(each.chunk, answer)]
            if not chunks and library.size[0]:
                chunks = find_sentence(library, answer)
            if chunks:
                return follow(library, trace, Wanted(text=answer), None, chunks, ranked=False)
    return None


def _is_at(chunk: Chunk, wanted: Iterable[tuple[str, int | None]]) -> bool:
    name = name_of(chunk.source)
    return any(name == file and page in (None, chunk.page) for file, page in wanted)


def _followed(trace: Trace, row: ResultRow, question: Question, miss: Miss) -> Followed:
    """What the stages of a miss say of the steps."""
    narrow = bool(miss.wanted.text)
    own = {fate.chunk.id: frozenset(strip.id for strip in fate.strips if narrow) for fate in miss.fates}
    citations = trace.answer.citations if trace.answer is not None else ()
    elsewhere = row.answer_holds is True and miss.stage != "cited"
    cited = [each for each in citations if (each.origin == "internal" if elsewhere else _holds(own, each))]
    supported = _supported(trace, {each.number for each in cited})
    lost = None if elsewhere else _step(miss)
    if lost is None and supported is False:
        lost = "support"
    page = miss.wanted.page
    fates = [fate for fate in miss.fates if page in (None, fate.chunk.page)][:_FATES]
    return Followed(
        question_id=row.question_id,
        question=question.question,
        run_id=row.run_id,
        miss=replace(miss, fates=tuple(fates)),
        lost=lost,
        supported=supported,
    )


def _holds(own: Mapping[str, frozenset[str]], citation: Citation) -> bool:
    strips = own.get(citation.source_id)
    return strips is not None and (not strips or citation.strip_id in strips)


def _supported(trace: Trace, numbers: set[int]) -> bool | None:
    judged = [check.supported for check in trace.checks if numbers & set(check.citations)]
    known = [each for each in judged if each is not None]
    return all(known) if known else None


def _step(miss: Miss) -> Step | None:
    """The first step that was not passed."""
    match miss.stage:
        case "unread":
            return "library"
        case "excluded" | "not retrieved":
            return "search"
        case "replaced" | "unused" | "below" | "dropped":
            best = max((fate.score for fate in miss.fates if fate.score is not None), default=miss.settings.lower)
            return "grade" if best < miss.settings.lower else "evidence"
        case "not cited":
            return "answer"
        case "cited":
            return None
