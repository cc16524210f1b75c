"""Held-out pairs by what they tell: the figures by which a run is followed."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Protocol

from corpora.pair import Pair, held_out
from crag.text.sentences import sentences

MOST = 500
"""Pairs of one check."""
CHECKS: dict[str, tuple[str, ...]] = {
    "answerable": ("squad paragraph", "squad unanswerable"),
    "window": ("squad window",),
    "nq": ("nq passage", "nq other"),
    "nq window": ("nq window",),
    "popqa": ("popqa passage", "popqa other"),
    "scifact": ("scifact window",),
    "claim": ("claim", "fever claim", "fever other"),
    "filing": ("filing",),
    "copied": ("copied",),
    "unansq": ("unansq passage",),
    "tatqa": ("tatqa table", "tatqa passage", "tatqa other", "tatqa page"),
    "table": ("fetaqa table", "aitqa table"),
    "sections": ("selqa window",),
    "near": ("newwiki passage", "newwiki other"),
    "time": ("tsqa passage", "tsqa other"),
    "medical": (
        *("medquad passage", "medquad other", "liveqa passage", "liveqa other"),
        "evinf passage",
        "evinf other",
    ),
    "meeting": ("qmsum passage", "qmsum other"),
    "story": ("fairytale passage", "fairytale other"),
    "flattered": ("flattered",),
}
"""For each check the sources that it is drawn from, each as often as the others where there are enough pairs."""
LEAST_SENTENCES = 3


class Drawn(Protocol):
    """What pairs are drawn from by seed: a corpus, or the sets alone."""

    def epoch(self, seed: int, /) -> Iterable[Pair]: ...


def checks(corpus: Drawn, seed: int = 1) -> dict[str, list[Pair]]:
    """At most 500 held-out pairs of each kind. `keep` has those whose sentences to keep are known, among others.

    Labels between yes and no are left out, but in `keep`.
    """
    kinds: dict[str, list[Pair]] = {}
    for pair in corpus.epoch(seed):
        if held_out(pair.group):
            kinds.setdefault(pair.source, []).append(pair)
    dice = random.Random(seed)
    found = {name: _drawn([kinds.get(source, []) for source in sources], dice) for name, sources in CHECKS.items()}
    known = [pair for pairs in kinds.values() for pair in pairs if pair.keeps and _long(pair)]
    found["keep"] = dice.sample(known, min(MOST, len(known)))
    return {name: pairs for name, pairs in found.items() if pairs}


def _drawn(sources: list[list[Pair]], dice: random.Random) -> list[Pair]:
    clear = [[pair for pair in pairs if pair.label in (0.0, 1.0)] for pairs in sources]
    for pairs in clear:
        dice.shuffle(pairs)
    found: list[Pair] = []
    # The smallest source first, so that what it lacks goes to the others.
    for left, pairs in enumerate(sorted(clear, key=len)):
        found += pairs[: (MOST - len(found)) // (len(clear) - left)]
    return found


def _long(pair: Pair) -> bool:
    return len(sentences(pair.text)) >= LEAST_SENTENCES
