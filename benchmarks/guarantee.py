"""Whether certified thresholds keep their promise, over 1,000 draws of real labelled questions.

python -m benchmarks.guarantee [--draws N] [--fresh] [--data FOLDER] [--cache FOLDER] [--limit N] [--out FOLDER]

The questions are those of training.set_questions, of documents that no weight was fitted on: searched for as `balanced`
does, scored as a set, and labelled by whether the chunks hold what answers. Scores and labels stand in
results/guarantee.json, so that drawing takes a minute and no data; --fresh makes them again.

Labelled questions are drawn with replacement, so the truth is known: it is the share in all of them. Prints a page and
writes it to results/guarantee.md; what --limit makes is only printed, unless --out says where to write.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.answers import library_of
from benchmarks.evaluator_graders import evaluator_version
from benchmarks.evaluator_report import table
from crag.analysis.intervals import Estimate, share
from crag.analysis.thresholds.guarantee import Certificate, Counted, Promise, Tally, certify
from crag.analysis.thresholds.sweep import GRID, Scored, best_pair, gains
from crag.core.config import AppConfig, Keys
from crag.core.types import Aggregation, SetReadings
from crag.engine import Engine
from crag.evaluation.heads import load_set_layer
from crag.evaluation.local import LocalEvaluator
from training.calibrate_sets import rows_of
from training.set_questions import libraries

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
SIZES, TARGETS, DRAWS, CONFIDENCE, SEED = (50, 100, 200, 400, 800), (0.05, 0.1, 0.2), 1_000, 0.95, 33
UPPERS = np.array(GRID[::-1])
COMMON = 0.05
"""The share of the questions that a pair calls CORRECT at least, to be looked at as the hardest case."""

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]
Row = tuple[str, float, bool]
"""Kind, score of the set, and whether the chunks hold what answers."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    data = Path(os.environ.get("CRAG_SHARED", ROOT.parent / "shared")) / "data"
    cache = Path(os.environ.get("CRAG_BENCH_CACHE", Path(tempfile.gettempdir()) / "crag-sets-cache"))
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--fresh", action="store_true", help="search and score again")
    parser.add_argument("--data", type=Path, default=data, help="the shared data folder")
    parser.add_argument("--cache", type=Path, default=cache, help="where the libraries are kept")
    parser.add_argument("--limit", type=int, default=0, help="with --fresh: the most questions; 0: all")
    parser.add_argument("--out", type=Path, help="where to write guarantee.json and guarantee.md")
    given = parser.parse_args()
    kept = json.loads((RESULTS / "guarantee.json").read_text(encoding="utf-8")) if not given.fresh else {}
    version = kept.get("version") or evaluator_version()
    rows = [tuple(row) for row in kept["rows"]] if kept else list(read(given.data, given.cache, given.limit))
    page = report(rows, version, given.draws)
    print(page)
    if out := given.out or (None if given.limit or given.draws != DRAWS else RESULTS):
        lines = ",\n".join(json.dumps(row) for row in rows)
        (out / "guarantee.json").write_text(f'{{"version": "{version}", "rows": [\n{lines}\n]}}\n', encoding="utf-8")
        (out / "guarantee.md").write_text(page, encoding="utf-8")
    return 0


def read(data: Path, cache: Path, limit: int) -> Iterator[Row]:
    """One retrieval of each question, in an order drawn by chance."""
    engine, evaluator, layer = Engine(AppConfig(), Keys()), LocalEvaluator(), load_set_layer()
    assert layer is not None
    asked = [
        (library_of(engine, files, cache), question) for files, questions in libraries(data) for question in questions
    ]
    random.Random(SEED).shuffle(asked)
    for place, (library, question) in enumerate(asked[: limit or None], start=1):
        row = next(rows_of(engine, evaluator, library, question), None)  # as it is; what follows is made from it
        if row is not None:
            yield row.kind, round(layer.score(SetReadings(**row.readings)), 4), row.sufficient
        if place % 100 == 0:
            print(f"  {place} of {len(asked)}", file=sys.stderr)
    engine.close()


# ---- drawing -------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Outcomes:
    """One way to choose a pair, over all draws: how often it gives one, what that calls CORRECT, and how wrong it is.

    Of the draws with a pair: `called` is a share of all questions, `wrong` one of these, `held_out` of those not drawn.
    """

    called: list[float] = field(default_factory=list)
    wrong: list[float] = field(default_factory=list)
    held_out: list[float] = field(default_factory=list)

    def cells(self, target: float, draws: int) -> list[str]:
        """In how many draws there is a pair, what it calls CORRECT, its wrong ones, and how often that is too many."""
        broken = share(sum(wrong > target for wrong in self.wrong), draws)
        means = (f"{np.mean(each):.1%}" if each else "–" for each in (self.called, self.wrong, self.held_out))
        return [f"{len(self.wrong) / draws:.0%}", *means, _interval(broken)]


def _interval(found: Estimate) -> str:
    if found.value is None or found.low is None or found.high is None:
        return "–"
    return f"{found.value:.1%} [{found.low:.1%}, {found.high:.1%}]"


WAYS = ("certified", "no more wrong among the labelled", "worth most")


def simulate(scores: Floats, right: Truths, size: int, promise: Promise, draws: int) -> dict[str, Outcomes]:
    """The outcomes of each way over `draws` draws of `size` labels, with replacement."""
    random_, found = np.random.default_rng(SEED), {way: Outcomes() for way in WAYS}
    above = scores[:, None] >= UPPERS
    called, wrong = above.mean(axis=0), (above & ~right[:, None]).mean(axis=0)
    for _ in range(draws):
        drawn = random_.integers(0, scores.size, size)
        for way, upper in zip(WAYS, chosen(scores[drawn], right[drawn], promise), strict=True):
            if upper is not None and called[at := int(np.argmin(abs(UPPERS - upper)))]:
                found[way].called.append(float(called[at]))
                found[way].wrong.append(float(wrong[at] / called[at]))
                rest = above[:, at].copy()
                rest[drawn] = False
                if rest.any():
                    found[way].held_out.append(float(np.mean(~right[rest])))
    return found


def chosen(scores: Floats, right: Truths, promise: Promise) -> tuple[float | None, float | None, float | None]:
    """The upper threshold by each way, from the same labels; None where it gives none."""
    above = scores[:, None] >= UPPERS
    called, wrong = above.sum(axis=0), (above & ~right[:, None]).sum(axis=0)
    counted = Counted(questions=right.size, answerable=int(right.sum()))
    tally = Tally(
        uppers=UPPERS,
        lowers=np.zeros(1),
        called=called[:, None],
        wrong=wrong[:, None],
        unknown=np.zeros_like(called)[:, None],
        counted=counted,
    )
    found = certify(tally, promise)
    within = UPPERS[(called > 0) & (wrong <= promise.target * called)]
    labelled = [Scored(scores=(float(s),), answerable=bool(r)) for s, r in zip(scores, right, strict=True)]
    worth = gains(labelled, aggregation=Aggregation.ANY)
    return (
        found.best.upper if isinstance(found, Certificate) else None,
        float(within.min()) if within.size else None,
        best_pair(worth.utility(), worth.uppers, worth.lowers)[0],
    )


def report(rows: list[Row], version: str, draws: int) -> str:
    """Markdown."""
    scores, right = np.array([row[1] for row in rows]), np.array([row[2] for row in rows])
    above = scores[:, None] >= UPPERS
    called = above.mean(axis=0)
    risk = (above & ~right[:, None]).mean(axis=0) / np.where(called, called, 1.0)
    parts = [
        "# Thresholds with a guarantee",
        f"""\
By `python -m benchmarks.guarantee`, evaluator {version}. {len(rows):,} questions of {len({row[0] for row in rows})}
kinds, near misses among them; the retrieved chunks answer {right.mean():.0%}. Scores are of the set, as `balanced`
compares them, without its corrective loop. The promise: of the questions called CORRECT at most the share in the
heading is wrong, with {CONFIDENCE:.0%} confidence. {draws:,} draws a row, with replacement, so that the true share of
wrong ones is known: it is that of all questions.""",
        """\
Pair given: in how many draws. Called CORRECT, and wrong of these: means of the true shares over the draws with a pair.
Held out: wrong of those called CORRECT among the questions that were not drawn, at the mean. **Broken**: in how many of
all draws the true share of wrong ones is above the promised one, with Wilson's 95 % interval; 5 % is allowed.""",
        """\
Beside the certified pair, from the same labels: the loosest pair with no more wrong ones among the labelled than
promised, and the pair worth most, which Tune recommends and which promises nothing. The eight weights of the set's
score were fitted on these questions. That flatters the scores; the promise does not rest on it.""",
    ]
    tables, worst = [], 0.0
    for target in TARGETS:
        best = max((float(called[at]) for at in np.flatnonzero(risk <= target)), default=0.0)
        known = f"By the labels of all questions {best:.1%} could be called CORRECT."
        lines, broken = _table(scores, right, target, draws)
        tables, worst = [*tables, f"## At most {target:.0%} wrong", known, lines], max(worst, broken)
    hardest = max(0.001, 0.999 * float(risk[called >= COMMON].min()))
    known = f"No pair that calls {COMMON:.0%} of the questions CORRECT keeps this promise, and one misses it narrowly."
    lines, broken = _table(scores, right, hardest, draws)
    tables += [f"## At most {hardest:.1%} wrong", known, lines]
    parts.insert(
        1, f"**Certified pairs break their promise in at most {max(worst, broken):.1%} of the draws of a row.**"
    )
    return "\n\n".join([*parts, *tables]) + "\n"


def _table(scores: Floats, right: Truths, target: float, draws: int) -> tuple[str, float]:
    """The rows of one promise, and the largest share of draws in which a certified pair breaks it."""
    lines, worst = [], 0.0
    for size in SIZES:
        found = simulate(scores, right, size, Promise(target=target, confidence=CONFIDENCE), draws)
        lines += [[f"{size}, {way}", *found[way].cells(target, draws)] for way in WAYS]
        worst = max(worst, sum(each > target for each in found["certified"].wrong) / draws)
    head = ["labels, way", "pair given", "called CORRECT", "wrong of these", "held out", "broken"]
    return table(head, lines), worst


if __name__ == "__main__":
    sys.exit(main())
