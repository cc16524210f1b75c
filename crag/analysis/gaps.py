"""Gaps in a library: questions that its documents do not answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crag.storage.library import Library
from crag.storage.runs import RunSummary
from crag.text.words import stem, words

RUNS = 300
"""How many of the latest runs are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A question that found no answer in the documents, as it was asked last.

    It was asked `asked` times in vain, the last time at `last` (ISO 8601, UTC), in `runs`, newest first, which came in
    by `vias` (see `RunStarted`).
    """

    question: str
    asked: int
    last: str
    runs: tuple[str, ...]
    vias: tuple[str, ...] = ()


def gaps(library: Library) -> list[Gap]:
    """The gaps of the latest runs: those asked most often first, then the latest.

    Questions of the same words are one; it is no gap where the documents answered it last. `RunFacts.gap` says which
    runs count: none of evaluations, of a forced action, or asked of a part of the library or of another store.
    """
    latest = library.runs.latest(RUNS)
    facts = library.facts.of([run.run_id for run in latest])
    asked: dict[frozenset[str], list[RunSummary]] = {}
    for run in latest:
        if run.run_id in facts and (facts[run.run_id].gap or facts[run.run_id].covered):
            asked.setdefault(frozenset(map(stem, words(run.question))), []).append(run)
    in_vain = [[run for run in runs if facts[run.run_id].gap] for runs in asked.values() if facts[runs[0].run_id].gap]
    return sorted(map(_gap, in_vain), key=lambda gap: gap.asked, reverse=True)


def _gap(runs: Sequence[RunSummary]) -> Gap:
    return Gap(
        question=runs[0].question,
        asked=len(runs),
        last=runs[0].started_at,
        runs=tuple(run.run_id for run in runs),
        vias=tuple(dict.fromkeys(run.via for run in runs)),
    )
