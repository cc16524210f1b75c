"""Fits the layer that chooses what is quoted among the candidates, and adds it to head.json.

    python -m training.calibrate_candidates [--data FOLDER] [--papers FOLDER] [--cache FOLDER] [--keep FILE]

Run it after training.calibrate_short and before training.calibrate_answers, whose questions it asks of today's engine:
of each the candidates are read, and which of them hold an accepted answer. The layer is a conditional logit, so that
only differences within a question count. Figures are cross-validated by document, beside those of kinds that were not
fitted on, the score alone, and each number left out; what is written is fitted on all. --keep FILE holds what was read.
It needs no torch.
"""

from __future__ import annotations

import argparse
import json
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from corpora.judging import is_accepted
from crag.core.config import AppConfig, Keys
from crag.core.protocols import RunRequest
from crag.core.strategies import strategy
from crag.core.types import Chunk, WebPage
from crag.engine import Engine
from crag.generation import extractive
from crag.generation.candidates import CANDIDATE_FEATURES, Unit, weigh_candidates
from crag.generation.short import Found
from training.calibrate_answers import FOLDS, Floats, arguments, libraries
from training.calibrate_short import write_layer

PENALTY, STEPS = 30.0, 30
ALL = range(len(CANDIDATE_FEATURES))


@dataclass(frozen=True, slots=True)
class Choice:
    """The candidates of a question: what the layer weighs of each, and whether it holds an accepted answer."""

    id: str
    kind: str
    group: str
    values: tuple[tuple[float, ...], ...]
    holds: tuple[bool, ...]


def main() -> None:
    given = arguments(__doc__)
    choices = [each for each in read(given) if any(each.holds)]
    documents = [str(zlib.crc32(each.group.encode()) % FOLDS) for each in choices]
    kinds = [each.kind for each in choices]
    right, unseen = judge(choices, documents), judge(choices, kinds)
    alone = np.array([each.holds[int(np.argmax([values[0] for values in each.values]))] for each in choices])
    for kind in ("", *dict.fromkeys(kinds)):
        own = np.array([each.kind == (kind or each.kind) for each in choices])
        shares = f"kind not fitted on {unseen[own].mean():.3f}, by score {alone[own].mean():.3f}"
        print(f"{kind or 'all':20} {own.sum():5} choices, right {right[own].mean():.3f}, {shares}")
    for place, name in enumerate(CANDIDATE_FEATURES):
        rest = [each for each in range(len(CANDIDATE_FEATURES)) if each != place]
        seen, other = (judge(choices, groups, rest).mean() for groups in (documents, kinds))
        print(f"without {name:12} right {seen:.3f}, kinds not fitted on {other:.3f}")
    rounded = [round(float(weight), 6) for weight in fit(choices)]
    write_layer("candidates", {"features": list(CANDIDATE_FEATURES), "weights": rounded, "bias": 0.0})


def judge(choices: Sequence[Choice], groups: Sequence[str], features: Sequence[int] = ALL) -> NDArray[np.bool_]:
    """Whether the candidate chosen for each holds an answer, by weights fitted on the choices of other groups."""
    right = np.zeros(len(choices), np.bool_)
    for group in dict.fromkeys(groups):
        weights = fit([each for each, other in zip(choices, groups, strict=True) if other != group], features)
        for place, each in enumerate(choices):
            if groups[place] == group:
                right[place] = each.holds[int(np.argmax(np.array(each.values)[:, features] @ weights))]
    return right


def fit(choices: Sequence[Choice], features: Sequence[int] = ALL) -> Floats:
    """The weights under which the candidates that hold an answer are the likeliest, by Newton's steps.

    The penalty is on weights of features of one spread, so that none is favoured.
    """
    pairs = [(np.array(each.values)[:, features], np.array(each.holds)) for each in choices if not all(each.holds)]
    spread = np.vstack([values for values, _ in pairs]).std(axis=0)
    spread[spread == 0.0] = np.inf  # a feature that never differs gets no weight
    weights = np.zeros(len(features))
    for _ in range(STEPS):
        slope, curve = -PENALTY * weights, PENALTY * np.eye(len(weights))
        for values, holds in pairs:
            scaled = values / spread
            chance = share(scaled @ weights)
            meant = np.where(holds, chance, 0.0)
            slope += scaled.T @ (meant / meant.sum() - chance)
            curve += (scaled.T * chance) @ scaled - np.outer(chance @ scaled, chance @ scaled)
        weights = weights + np.clip(np.linalg.solve(curve, slope), -2.0, 2.0)
    return weights / spread


def share(odds: Floats) -> Floats:
    """The chance of each, all together 1."""
    chances: NDArray[np.float64] = np.exp(odds - odds.max())
    return chances / chances.sum()


def read(given: argparse.Namespace) -> Iterator[Choice]:
    """One choice a question with an answer. What --keep holds is not asked again."""
    keep, known = given.keep, dict[str, Choice]()
    if keep and keep.is_file():
        lines = (json.loads(line) for line in keep.read_text(encoding="utf-8").splitlines())
        known = {line["id"]: Choice(**line) for line in lines}
    noted: list[Unit] = []

    def weigh(
        question: str, units: Sequence[Unit], sources: Mapping[str, Chunk | WebPage], found: Sequence[Found]
    ) -> list[Unit]:
        noted[:] = weigh_candidates(question, units, sources, found)
        return list(noted)

    extractive.weigh_candidates = weigh  # type: ignore[attr-defined]
    engine = Engine(AppConfig(), Keys())
    settings = strategy("balanced").settings.changed(verify=False)
    for library, questions in libraries(engine, given):
        for asked in questions:
            question = asked.question
            if question.answerable and question.id not in known:
                noted.clear()
                own = settings.changed(where=question.where)
                list(engine.ask(RunRequest(question.question, workspace=library, settings=own)))
                values = tuple(tuple(unit.facts[name] for name in CANDIDATE_FEATURES) for unit in noted)
                holds = tuple(is_accepted("", unit.text, question) for unit in noted)
                known[question.id] = Choice(question.id, question.kind, asked.group, values, holds)
                if keep:
                    with keep.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(asdict(known[question.id])) + "\n")
                if len(known) % 50 == 0:
                    print(f"  {question.kind}: {len(known)}", file=sys.stderr)
            if question.id in known:
                yield known[question.id]
    engine.close()


if __name__ == "__main__":
    main()
