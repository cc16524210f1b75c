"""What one finished run is worth against what was expected of it. Pure: nothing is asked, nothing is guessed.

Whatever a label or the run does not tell is None. See `ResultRow` for every measure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from crag.analysis.questions.matching import (
    answer_match,
    asked_scale,
    checkable,
    comparable,
    holds,
)
from crag.analysis.questions.sets import Question
from crag.core.errors import CancelledError, CutOffError
from crag.core.model_ids import about
from crag.core.trace import Outcome, Round, Trace
from crag.core.types import Action, Chunk, WebPage

Label = Literal["unanswerable", "page", "answer", "source"]
"""What a retrieval was judged by."""


def label_of(expected: Question) -> Label | None:
    """The finest label; a page counts as finer than an answer, which any page may hold by chance."""
    if expected.unanswerable:
        return "unanswerable"
    if pages_of(expected):
        return "page"
    if checkable(expected.answers):
        return "answer"
    return "source" if expected.sources else None


def judge(expected: Question) -> Callable[[Chunk], bool | None]:
    """What says of a chunk whether it holds what is sought: None where no label tells.

    An expected page or an accepted answer in the chunk says yes; where neither is labelled, an expected source does.
    Nothing holds what is labelled unanswerable.
    """
    match label_of(expected):
        case None:
            return lambda chunk: None
        case "unanswerable":
            return lambda chunk: False
        case "source":
            return lambda chunk: is_expected(chunk, expected)
    places, scale, answers = pages_of(expected), asked_scale(expected.question), checkable(expected.answers)
    return lambda chunk: chunk_place(chunk) in places or holds(chunk.text, answers, scale=scale)


def pages_of(expected: Question) -> frozenset[tuple[str, int]]:
    """The expected pages with their sources; none where their sources are unknown."""
    names = files_of(expected)
    return frozenset((name, page) for name in names for page in expected.pages) if len(names) == 1 else frozenset()


def files_of(expected: Question) -> frozenset[str]:
    """The names of the expected sources that may lie in the library: all but those on the web."""
    return frozenset(name_of(source) for source in expected.sources if not on_web(source))


def on_web(source: str) -> bool:
    """Whether an expected source is a page on the web, by its form: an address, but not a PDF's, which may be kept."""
    plain = source.strip().casefold()
    return plain.startswith(("http://", "https://", "folder:")) and not plain.endswith(".pdf")


def is_expected(found: Chunk | WebPage, expected: Question) -> bool:
    """Whether a chunk is of an expected file, or a web page one of the expected addresses."""
    if isinstance(found, Chunk):
        return name_of(found.source) in files_of(expected)
    return _address(found.url) in {_address(source) for source in expected.sources if on_web(source)}


def _address(url: str) -> str:
    return url.strip().casefold().rstrip("/")


def chunk_place(chunk: Chunk) -> tuple[str, int]:
    return name_of(chunk.source), chunk.page


def name_of(source: str) -> str:
    """A file's name alone, without folders, case and ".pdf": question sets write it in all these ways."""
    return re.split(r"[/\\]", source.strip().casefold())[-1].removesuffix(".pdf")


MEAN = "mean"
"""Marks a field of `ResultRow` that is averaged over questions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultRow:
    """One question under one strategy, measured. None: the labels or the run do not tell.

    A field marked MEAN is averaged over questions.
    `problem` says why a run did not finish; what depends on its answer is then None.
    `first_*` is of the first retrieval, `acted_*` of the one acted on. `*_recall`: the share of the expected pages, of
    the expected files where no page is labelled, that some chunk brought; `*_reciprocal_rank`: 1 / rank of the first
    chunk from one of them, 0 where there is none. `*_holds`: whether what is sought was retrieved: see `round_holds`;
    `judged_by` is the finest label there was to tell by.
    `first_right` and `acted_right`: see `action_right`.
    `evidence_answer`: whether the kept strips, web included, hold an accepted answer; `evidence_page` and
    `evidence_source`: whether one of them is from an expected page or source, a web page too; `evidence_words`: how
    many words are kept.
    `answer_f1` (0..1), `answer_holds`: the answer against the accepted ones; an abstention gives none. Each is the
    better of the answer's and its `short_answer`'s, where it has one. `unscored`: neither tells, though an answer is
    accepted.
    `abstention_right`: whether the run abstained exactly where its evidence held no accepted answer and was from no
    expected page.
    `rewrite_helped`: of a question whose first retrieval lacked what is sought and was rewritten for the library:
    whether the retrieval acted on holds it. None of all others.
    `failed_grades` of chunks and web pages, `failed_calls`, `searches`, `rewrites` (library and web), and `remembered`
    grades and searches of earlier runs, which took no time, are counts.
    Seconds hold the wait for a person's approval; tokens are None where a model's were not counted.
    """

    question_id: str
    question: str
    strategy: str = ""
    run_id: str = ""
    problem: str = ""
    answer: str = ""
    short_answer: str = ""
    first_recall: Annotated[float | None, MEAN] = None
    first_reciprocal_rank: Annotated[float | None, MEAN] = None
    acted_recall: Annotated[float | None, MEAN] = None
    acted_reciprocal_rank: Annotated[float | None, MEAN] = None
    judged_by: Label | None = None
    first_holds: Annotated[bool | None, MEAN] = None
    acted_holds: Annotated[bool | None, MEAN] = None
    first_right: Annotated[float | None, MEAN] = None
    action: Action | None = None
    acted_right: Annotated[float | None, MEAN] = None
    evidence_answer: Annotated[bool | None, MEAN] = None
    evidence_page: Annotated[bool | None, MEAN] = None
    evidence_source: Annotated[bool | None, MEAN] = None
    evidence_words: Annotated[int | None, MEAN] = None
    faithfulness: Annotated[float | None, MEAN] = None
    answer_f1: Annotated[float | None, MEAN] = None
    answer_holds: Annotated[bool | None, MEAN] = None
    unscored: bool = False
    state: Outcome = ""
    abstained: Annotated[bool | None, MEAN] = None
    abstention_right: Annotated[bool | None, MEAN] = None
    rewrites: Annotated[int, MEAN] = 0
    library_rewrites: Annotated[int, MEAN] = 0
    rewrite_helped: Annotated[bool | None, MEAN] = None
    searches: Annotated[int, MEAN] = 0
    calls: Annotated[int, MEAN] = 0
    failed_calls: Annotated[int, MEAN] = 0
    failed_grades: Annotated[int, MEAN] = 0
    remembered: Annotated[int, MEAN] = 0
    seconds: Annotated[float | None, MEAN] = None
    input_tokens: Annotated[int | None, MEAN] = None
    output_tokens: Annotated[int | None, MEAN] = None

    @property
    def right(self) -> bool | None:
        """Whether a labelled question was answered rightly; None without a label, and where nothing tells.

        A run that failed is not right. An unanswerable question is right if the run abstained, one with an accepted
        answer if the answer says it, any other if it was answered from an expected page, or source without a page.
        """
        if self.problem:
            return None if self.judged_by is None else False
        if self.judged_by == "unanswerable":
            return self.abstained
        if self.answer_holds is not None:
            return self.answer_holds
        found = self.evidence_source if self.evidence_page is None else self.evidence_page
        return None if found is None else found and not self.abstained


def measure_run(trace: Trace, expected: Question) -> ResultRow:
    """All measures of one run."""
    first, acted = trace.rounds[0] if trace.rounds else None, trace.round
    first_holds, acted_holds = round_holds(first, expected), round_holds(acted, expected)
    first_recall, first_rank = _ranked(first, expected)
    acted_recall, acted_rank = _ranked(acted, expected)
    by_answer, by_page = evidence_holds(trace, expected)
    known = [each for each in (by_answer, by_page) if each is not None]
    answer = trace.answer if _complete(trace) else None
    abstained = answer.abstained if answer else None
    said = "" if answer is None or answer.abstained else answer.text
    accepted = () if expected.unanswerable else expected.answers
    scale = asked_scale(expected.question)
    short = answer.short.value if answer and answer.short else ""
    short = answer.calculation.result if answer and answer.calculation else short
    matches = [found for each in (said, short) if answer and (found := answer_match(each, accepted, scale=scale))]
    again = len(trace.rounds) > 1 and first_holds is False and not expected.unanswerable
    return ResultRow(
        question_id=expected.id,
        question=expected.question,
        strategy=trace.strategy,
        run_id=trace.run_id,
        problem=_problem(trace),
        answer=answer.text if answer else "",
        short_answer=short,
        first_recall=first_recall,
        first_reciprocal_rank=first_rank,
        acted_recall=acted_recall,
        acted_reciprocal_rank=acted_rank,
        judged_by=label_of(expected),
        first_holds=first_holds,
        acted_holds=acted_holds,
        first_right=action_right(first.decision.action if first and first.decision else None, first_holds),
        action=trace.action,
        acted_right=action_right(trace.action, acted_holds),
        evidence_answer=by_answer,
        evidence_page=by_page,
        evidence_source=_evidence_source(trace, expected),
        evidence_words=sum(len(strip.text.split()) for strip in trace.kept()) if answer else None,
        faithfulness=trace.faithfulness,
        answer_f1=max((match.f1 for match in matches), default=None),
        answer_holds=any(match.holds for match in matches) if matches else None,
        unscored=bool(accepted) and not comparable(accepted),
        state=trace.outcome,
        abstained=abstained,
        abstention_right=None if abstained is None or not known else abstained != any(known),
        rewrites=len(trace.rewrites),
        library_rewrites=sum(rewrite.purpose == "library" for rewrite in trace.rewrites),
        rewrite_helped=acted_holds if again else None,
        searches=len(trace.searches),
        calls=len(trace.calls),
        failed_calls=sum(call.error is not None for call in trace.calls),
        failed_grades=_failed_grades(trace),
        remembered=trace.remembered,
        seconds=trace.seconds if _complete(trace) else None,
        input_tokens=_tokens([call.input_tokens for call in trace.calls if call.model and call.error is None]),
        output_tokens=_tokens([call.output_tokens for call in trace.calls if call.model and call.error is None]),
    )


def rank_expected(found: Sequence[Hashable], wanted: Collection[Hashable]) -> tuple[float | None, float | None]:
    """Recall and reciprocal rank of `found`, best first, against `wanted`; None where nothing is wanted."""
    if not wanted:
        return None, None
    rank = next((rank for rank, each in enumerate(found, 1) if each in wanted), None)
    return len(set(wanted).intersection(found)) / len(wanted), 1 / rank if rank else 0.0


def round_holds(round: Round | None, expected: Question) -> bool | None:
    """Whether a retrieval brought what is sought, by `judge`. None without a label, and for a run without one."""
    if round is None or label_of(expected) is None:
        return None
    holds_it = judge(expected)
    return any(holds_it(found.chunk) for found in round.chunks)


def action_right(action: Action | None, held: bool | None) -> float | None:
    """1 where the action fits what was retrieved, 0 where it doesn't, 0.5 for AMBIGUOUS, which hedges both ways.

    CORRECT fits a retrieval that holds what is sought, INCORRECT one that doesn't.
    """
    if action is None or held is None:
        return None
    if action is Action.AMBIGUOUS:
        return 0.5
    return float((action is Action.CORRECT) == held)


def evidence_holds(trace: Trace, expected: Question) -> tuple[bool | None, bool | None]:
    """Whether the kept strips hold an accepted answer, and whether one is from an expected page.

    A source's kept strips are read as one text, in order; no evidence answers what is labelled unanswerable.
    None where no label tells, or the run did not come so far.
    """
    if not _complete(trace):
        return None, None
    if expected.unanswerable:
        return False, None
    answers, places = checkable(expected.answers), pages_of(expected)
    kept, sources = trace.kept(), trace.sources
    texts: dict[str, list[str]] = {}
    for strip in kept:
        texts.setdefault(strip.source_id, []).append(strip.text)
    scale = asked_scale(expected.question)
    in_text = any(holds("\n".join(parts), answers, scale=scale) for parts in texts.values())
    chunks = (sources.get(source) for source in texts)
    on_page = any(isinstance(chunk, Chunk) and chunk_place(chunk) in places for chunk in chunks)
    return in_text if answers else None, on_page if places else None


def _evidence_source(trace: Trace, expected: Question) -> bool | None:
    """Whether a kept strip is from an expected source; None where none is labelled, or the run did not come so far."""
    if not _complete(trace) or not expected.sources or expected.unanswerable:
        return None
    sources = trace.sources
    return any(is_expected(sources[strip.source_id], expected) for strip in trace.kept() if strip.source_id in sources)


def _ranked(round: Round | None, expected: Question) -> tuple[float | None, float | None]:
    """How a retrieval's chunks were ranked: by file and page, by file alone where no page is labelled."""
    if round is None:
        return None, None
    chunks = [found.chunk for found in round.chunks]
    if places := pages_of(expected):
        return rank_expected([chunk_place(chunk) for chunk in chunks], places)
    return rank_expected([name_of(chunk.source) for chunk in chunks], files_of(expected))


def _complete(trace: Trace) -> bool:
    """Whether the run came to its own end: what was stopped or failed on the way says nothing of its strategy."""
    return not _problem(trace)


def _problem(trace: Trace) -> str:
    if trace.failure:
        return about(trace.failure.cause, trace.failure.who)
    if trace.cancelled:
        return CancelledError("The run was stopped.").message
    return "" if trace.finished else CutOffError("The run did not end.").message


def _failed_grades(trace: Trace) -> int:
    grades = [grade for each in trace.rounds for grade in each.made]
    return sum(grade.failed for grade in (*grades, *trace.web_grades.values()))


def _tokens(counts: Sequence[int | None]) -> int | None:
    """Their sum; 0 where no model was called, None where one call's were not counted."""
    return None if None in counts else sum(count for count in counts if count is not None)
