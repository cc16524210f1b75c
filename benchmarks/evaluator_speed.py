"""Milliseconds a pair and peak memory of one way to score a batch of ten pairs, alone in a fresh process.

Run by benchmarks.evaluator; `python -m benchmarks.evaluator_speed NAME` measures one and prints JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from benchmarks.evaluator_graders import shipped_evaluator
from crag.core.types import Passage
from crag.models.cross_encoder import FOLDER
from crag.models.runtime import E5

ROOT = Path(__file__).resolve().parent.parent
PAIRS, CHUNK_TOKENS, QUESTION_TOKENS, THREADS, REPEATS = 10, 200, 12, 2, 30
WORDS = """time year people way day man thing woman life child world school state family student group country problem
hand part place case week company system program question work government number night point home water room mother
area money story fact month lot right study book eye job word business issue side kind head house service friend
father power hour game line end member law car city community name president team minute idea body information back
parent face others level office door health person art war history party result change morning reason research girl
guy moment air teacher force education""".split()
"""Common words, each one token of the embedding model."""

Batch = tuple[str, list[str]]


def measure_speed() -> dict[str, Any]:
    """Each way's figures. A way that could not run says why."""
    ways = {way: _in_child(way) for way in WAYS}
    return {"pairs": PAIRS, "chunk_tokens": CHUNK_TOKENS, "threads": THREADS, "ways": ways}


def _in_child(way: str) -> dict[str, Any]:
    environment = {**os.environ, "OMP_NUM_THREADS": str(THREADS), "MKL_NUM_THREADS": str(THREADS)}
    command = [sys.executable, "-m", "benchmarks.evaluator_speed", way]
    print(f"speed: {way}", file=sys.stderr)
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if ran.returncode:
        return {"error": (ran.stderr.strip().splitlines() or ["it ended without a word"])[-1]}
    figures: dict[str, Any] = json.loads(ran.stdout.strip().splitlines()[-1])
    return figures


# ---- the child -----------------------------------------------------------------------------------------------------


def batches(count: int) -> list[Batch]:
    """Questions of 12 and chunks of 200 tokens (full stops included), no chunk twice, so that no cache can help."""
    dice = random.Random(11)

    def chunk() -> str:
        drawn = dice.choices(WORDS, k=CHUNK_TOKENS)
        return " ".join(f"{word} ." if place % 15 == 14 else word for place, word in enumerate(drawn[: _words_in()]))

    def question() -> str:
        return " ".join(dice.choices(WORDS, k=QUESTION_TOKENS - 1)) + "?"

    return [(question(), [chunk() for _ in range(PAIRS)]) for _ in range(count)]


def _words_in() -> int:
    """How many words make a chunk when every fifteenth brings a full stop with it."""
    return next(words for words in range(CHUNK_TOKENS, 0, -1) if words + words // 15 == CHUNK_TOKENS)


def timed(score: Callable[[Batch], object]) -> dict[str, Any]:
    """Median milliseconds a pair after one batch that is not counted, and the process's peak memory in MB."""
    first, *rest = batches(REPEATS + 1)
    score(first)
    seconds = []
    for batch in rest:
        began = time.perf_counter()
        score(batch)
        seconds.append(time.perf_counter() - began)
    return {"ms_per_pair": statistics.median(seconds) / PAIRS * 1000, "peak_mb": peak_mb(), "repeats": REPEATS}


def peak_mb() -> float:
    """Of this program alone: what getrusage says of a process that another one started includes that other's peak."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(each for each in status.read_text().splitlines() if each.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)


def evaluator() -> dict[str, Any]:
    shipped = shipped_evaluator()

    def score(batch: Batch) -> None:
        grades = list(shipped.grade(batch[0], [Passage(id=str(n), text=text) for n, text in enumerate(batch[1])]))
        if any(grade.failed for grade in grades):
            raise SystemExit(next(grade.error for grade in grades if grade.failed))

    return timed(score)


def cosine() -> dict[str, Any]:
    model = E5(threads=THREADS)

    def score(batch: Batch) -> object:
        vectors = model.embed([batch[0], *batch[1]])
        return vectors[1:] @ vectors[0]

    tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    assert len(tokenizer.encode(batches(1)[0][1][0]).ids) == CHUNK_TOKENS + 2, "a chunk is not of 200 tokens"
    return timed(score)


WAYS: dict[str, Callable[[], dict[str, Any]]] = {"evaluator": evaluator, "cosine": cosine}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("way", choices=WAYS)
    given = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
    print(json.dumps(WAYS[given.way]()))


if __name__ == "__main__":
    main()
