"""What a run's end hangs on: its answer without some of its texts, and the nearest run that ended otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from crag.analysis.comparison import Differences, differences
from crag.analysis.gaps import LIKE, RUNS
from crag.analysis.whatif.without import Without
from crag.core.protocols import Embedder, embed_question
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import Action, Answer, Chunk, WebPage
from crag.evaluation.adaptation import shipped_id
from crag.evaluation.scoring import likeliest
from crag.generation.extractive import ExtractiveGenerator
from crag.generation.ground import finish, without_floor
from crag.storage.library import Library

if TYPE_CHECKING:
    from crag.engine import Engine

_COMPARED = 24
"""Questions whose vectors are compared: those that share most words with the run's."""

NoAnswer = Literal["", "no answer", "written", "decision", "evidence", "web"]
"""Why an answer without some texts is not known. "no answer": the run has none. "written": a language model wrote it.
"decision": the action is unknown. "evidence": how the strips would score, and "web": what a search would bring."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerWithout:
    """The answer of a run without some of its texts; None where `reason` says why only a new run can tell.

    Its citations are those that it has before it is checked.
    """

    answer: Answer | None
    reason: NoAnswer = ""


def answer_without(engine: Engine, without: Without, *, web_on: bool) -> AnswerWithout:
    """Quote again from what is left. `web_on`: whether a run with the same settings could search the web now."""
    trace, what, settings = without.trace, without.what, without.settings
    if trace.answer is None:
        return AnswerWithout(answer=None, reason="no answer")
    if not trace.answer.quoted or not isinstance(engine.generator, ExtractiveGenerator):
        return AnswerWithout(answer=None, reason="written")
    if what.decision is None and settings.evaluator != "none":
        return AnswerWithout(answer=None, reason="decision")
    if what.documents == "unknown":
        return AnswerWithout(answer=None, reason="evidence")
    if what.web == "unknown" and (web_on or trace.searches):
        return AnswerWithout(answer=None, reason="web")
    knowledge = [strip for strips in what.strips.values() for strip in strips if strip.kept]
    sources: dict[str, Chunk | WebPage] = {id: trace.sources[id] for id in without.acted}
    if what.web == "known":
        sources |= {page.id: page for page in trace.pages}
    graders = {grade.evaluator for each in trace.rounds for grade in each.made if not grade.failed}
    if set(map(shipped_id, graders)) - {engine.evaluator.id}:
        settings = without_floor(settings, what.decision)
    pieces = engine.generator.answer(trace.meant, knowledge, sources, settings)
    whole = next(piece for piece in pieces if isinstance(piece, Answer))
    return AnswerWithout(answer=finish(whole, what.decision, knowledge, sources, settings))


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherRun:
    """The nearest run that ended in another action. `closeness`: the cosine of both questions' vectors, 1 of one.

    `settings` has those that differ as (here, there); `differences` are between the run, first, and the other.
    """

    trace: Trace
    closeness: float
    settings: Mapping[str, tuple[Any, Any]]
    differences: Differences

    @property
    def action(self) -> Action | None:
        return self.trace.action

    @property
    def is_like(self) -> bool:
        """Whether its question asks for about the same."""
        return self.closeness >= LIKE


def nearest_other_run(library: Library, trace: Trace, embedder: Embedder) -> OtherRun | None:
    """Of the latest runs with another action the one whose question is nearest; None of none.

    Of equals it is one of the same strategy, and of these the latest.
    """
    others = [each for each in library.runs.latest(RUNS) if each.action and each.action != (trace.action or "")]
    others = [each for each in others if each.run_id != trace.run_id]
    questions = list(dict.fromkeys(each.question for each in others))
    questions = [questions[place] for place in likeliest(questions, trace.meant, _COMPARED)]
    own, closeness = embed_question(embedder, trace.meant), dict[str, float]()
    for question in questions:
        same = question == trace.meant
        closeness[question] = 1.0 if same else float(np.dot(embed_question(embedder, question), own))
        if same:
            break
    near = [each for each in others if each.question in closeness]
    near.sort(key=lambda each: (-closeness[each.question], each.strategy != trace.strategy))
    for other in library.runs.traces([each.run_id for each in near]):
        if isinstance(other, Trace):
            here, there = (Settings.stored(each.settings).settings.model_dump() for each in (trace, other))
            return OtherRun(
                trace=other,
                closeness=closeness[other.meant],
                settings={name: (here[name], there[name]) for name in here if here[name] != there[name]},
                differences=differences([trace, other], ["This run", "The other run"]),
            )
    return None
