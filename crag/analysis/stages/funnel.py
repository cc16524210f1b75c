"""Where the answers of a question set are lost: how far each expected place came in its run, stage by stage, and the
one change of a setting that is known to mend most losses. No language model is asked.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from crag.analysis.evaluate import question_set, rows
from crag.analysis.metrics.metrics import ResultRow, files_of, label_of, name_of, pages_of
from crag.analysis.questions.sets import Question
from crag.analysis.stages.miss import MIN_WORDS, Miss, Wanted, find_sentence, follow, has_sentence
from crag.analysis.whatif.whatif import Replay, WhatIf
from crag.core.trace import Trace
from crag.core.types import Action, Chunk, Citation, Document
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
MOST_VALUES = 5
"""Values of one setting that are tried as levers."""
MOST_LEVERS = 4
"""Levers whose harm is counted, those that mend most."""
_FATES = 8
"""Chunks of a place that are remembered of each question."""

Setting = tuple[str, Any]
"""A setting's name, and a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """One question whose expected place was followed through its run.

    `lost`: the first step that it did not pass; None where it passed all. `supported`: what the checks say of the
    sentences that cite it; None where none was checked. `said`: the answer says an accepted answer, None where that is
    not known. `anchors`: by source id the strips that hold the place, of a loss those that must be kept, else those
    that are cited; none means any strip of that source.
    """

    question_id: str
    question: str
    run_id: str
    miss: Miss
    lost: Step | None
    supported: bool | None
    said: bool | None
    anchors: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lever:
    """One setting moved to one value, and what is known of it without a new run.

    `mended`: losses whose place is certain to pass the step at which it was lost. `broken`: questions that passed whose
    cited strips are certain to be dropped. `unknown`: those that passed of which only a new run can tell.
    """

    setting: str
    value: Any
    mended: int
    broken: int
    unknown: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Funnel:
    """How many of the questions of one evaluation pass each step.

    `followed` questions have an expected place and a run; `left_out` counts the others. `passed` falls from step to
    step. `graded`: whether the runs graded chunks. `checked`: questions whose citing sentences were checked.
    `elsewhere`: those whose answer says what is accepted and cites another place. `wrong`: those that cite the place
    and say nothing that is accepted. `losses` are in the set's order. `lever` is None where none is known to help.
    """

    followed: int
    passed: Mapping[Step, int]
    losses: tuple[Followed, ...]
    left_out: Mapping[LeftOut, int]
    graded: bool
    checked: int = 0
    elsewhere: int = 0
    wrong: int = 0
    lever: Lever | None = None

    @property
    def lost(self) -> dict[Step, int]:
        """Losses by step, those with none left out."""
        counts = Counter(each.lost for each in self.losses)
        return {step: counts[step] for step in STEPS if counts[step]}


def trace_funnel(library: Library, evaluation_id: str) -> Funnel:
    """The funnel of a stored evaluation, with its best lever.

    Each run is read once, those that a lever may change twice more; the library is searched once for each place that a
    run did not retrieve. Raises NotFoundError, StorageError for a set that can't be read, and what `Search.find`
    raises.
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
    return _fold(followed, left_out, best_lever(followed, library.runs.readable))


def _left_out(question: Question | None) -> LeftOut | None:
    label = label_of(question) if question is not None else None
    if question is None or label is None or (label == "source" and not files_of(question)):
        return "no place"
    return "no answer" if label == "unanswerable" else None


def _fold(followed: Sequence[Followed], left_out: Mapping[LeftOut, int], lever: Lever | None) -> Funnel:
    """How many pass each step, and what is lost where."""
    lost = Counter(each.lost for each in followed)
    return Funnel(
        followed=len(followed),
        passed={step: len(followed) - sum(lost[each] for each in STEPS[:at]) for at, step in enumerate(STEPS, 1)},
        losses=tuple(each for each in followed if each.lost is not None),
        left_out={reason: left_out[reason] for reason in get_args(LeftOut) if left_out.get(reason)},
        graded=any(each.miss.action is not None for each in followed),
        checked=sum(each.supported is not None for each in followed if each.lost in (None, "support")),
        elsewhere=sum(each.said is True and each.miss.stage != "cited" for each in followed),
        wrong=sum(each.said is False and each.miss.stage == "cited" for each in followed),
        lever=lever,
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
    anchors: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for each in cited:
        anchors[each.source_id] |= {each.strip_id}
    page = miss.wanted.page
    fates = [fate for fate in miss.fates if page in (None, fate.chunk.page)][:_FATES]
    return Followed(
        question_id=row.question_id,
        question=question.question,
        run_id=row.run_id,
        miss=replace(miss, fates=tuple(fates)),
        lost=lost,
        supported=supported,
        said=row.answer_holds,
        anchors=dict(anchors) if lost in (None, "support") else own,
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


# ---- the best lever ------------------------------------------------------------------------------------------------


def best_lever(followed: Sequence[Followed], traces: Callable[[Sequence[str]], Iterable[Trace]]) -> Lever | None:
    """The change of one setting that mends most losses beyond those that it breaks; None where none is known to help.

    What only a new run can tell counts as broken, as long as another lever is known better. Candidates are the certain
    changes of single losses. Each is counted over all losses, the best of them over the questions that passed too.
    `traces` reads stored runs by their ids. Pure besides.
    """
    tried = _candidates(followed)
    losses = [each for each in followed if each.lost in ("search", "grade", "evidence")]
    mended = Counter(lever for lever, kept in _outcomes(losses, tried, traces) if kept)
    best = [lever for lever, _ in mended.most_common(MOST_LEVERS)]
    passing = Counter(_outcomes([each for each in followed if each.lost is None], best, traces))
    levers = [
        Lever(
            setting=lever[0],
            value=lever[1],
            mended=mended[lever],
            broken=passing[lever, False],
            unknown=passing[lever, None],
        )
        for lever in sorted(best, key=tried.index)
    ]
    helpful = [each for each in levers if each.mended > each.broken]
    return max(helpful, key=lambda each: (each.mended - each.broken - each.unknown, each.mended), default=None)


def _candidates(followed: Sequence[Followed]) -> list[Setting]:
    """One setting at one value each, the mildest value of each setting first."""
    values: defaultdict[str, set[Any]] = defaultdict(set)
    for each in followed:
        change = each.miss.change
        if each.lost is not None and change is not None and change.certain and len(change.settings) == 1:
            [(name, value)] = change.settings.items()
            values[name].add(value)
    found: list[Setting] = []
    for name, own in values.items():
        mild = sorted(own, reverse=name != "k")
        step = max(1, -(-len(mild) // MOST_VALUES))
        found += [(name, value) for value in mild[(len(mild) - 1) % step :: step]]
    return found


def _outcomes(
    followed: Sequence[Followed], levers: Sequence[Setting], traces: Callable[[Sequence[str]], Iterable[Trace]]
) -> Iterable[tuple[Setting, bool | None]]:
    """Of each question and lever whether the place would be kept, or found where it was lost in the search."""
    runs = {each.run_id: each for each in followed} if levers else {}
    for trace in traces(list(runs)) if runs else ():
        own = runs[trace.run_id]
        if own.lost == "search":
            change = own.miss.change
            needed = change.settings.get("k") if change is not None and change.certain else None
            yield from ((each, each[0] == "k" and needed is not None and each[1] >= needed) for each in levers)
            continue
        replay, settings = Replay(trace), trace.run_settings
        for each in levers:
            yield each, _keeps(replay.under(settings.changed(**dict([each]))), trace.action, own.anchors)


def _keeps(what: WhatIf, before: Action | None, anchors: Mapping[str, frozenset[str]]) -> bool | None:
    """Whether a strip of these would be kept; None where only a new run can tell."""
    if what.documents == "unknown" or (what.decision is None and what.unknown):
        return None
    if not anchors:  # the answer rests on the web
        return None if what.unknown or what.action != before else True
    return any(
        strip.kept and (not anchors[id] or strip.id in anchors[id])
        for id in anchors
        for strip in what.strips.get(id, ())
    )
