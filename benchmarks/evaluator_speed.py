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
PAIRS, CHUNK_TOKENS, QUESTION_TOKENS, THREADS = 10, 200, 12, 2
INSTALL = "needs torch and transformers: pip install -r benchmarks/requirements.txt"
WORDS = """time year people way day man thing woman life child world school state family student group country problem
hand part place case week company system program question work government number night point home water room mother
area money story fact month lot right study book eye job word business issue side kind head house service friend
father power hour game line end member law car city community name president team minute idea body information back
parent face others level office door health person art war history party result change morning reason research girl
guy moment air teacher force education""".split()
"""Common words, each one token of the embedding model."""

T5_LARGE = {"d_model": 1024, "d_kv": 64, "d_ff": 4096, "num_layers": 24, "num_heads": 16, "vocab_size": 32128}

Batch = tuple[str, list[str]]


def measure_speed(*, t5: bool) -> dict[str, Any]:
    """Each way's figures, and the ratios of T5-large's to ours. A way that could not run says why."""
    ways = ["evaluator", "cosine", *(["t5-large"] if t5 else [])]
    found = {way: _in_child(way) for way in ways}
    if not t5:
        found["t5-large"] = {"error": "left out by --skip-t5"}
    ours, theirs = found["evaluator"], found["t5-large"]
    ratios = (
        {key: theirs[key] / ours[key] for key in ("ms_per_pair", "peak_mb")}
        if "error" not in ours and "error" not in theirs
        else None
    )
    return {"pairs": PAIRS, "chunk_tokens": CHUNK_TOKENS, "threads": THREADS, "ways": found, "t5_over_ours": ratios}


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


def timed(score: Callable[[Batch], object], repeats: int) -> dict[str, Any]:
    """Median milliseconds a pair after one batch that is not counted, and the process's peak memory in MB."""
    first, *rest = batches(repeats + 1)
    score(first)
    seconds = []
    for batch in rest:
        began = time.perf_counter()
        score(batch)
        seconds.append(time.perf_counter() - began)
    return {"ms_per_pair": statistics.median(seconds) / PAIRS * 1000, "peak_mb": peak_mb(), "repeats": repeats}


def peak_mb() -> float:
    """Of this program alone: what getrusage says of a process that another one started includes that other's peak."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(each for each in status.read_text().splitlines() if each.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)


def evaluator(repeats: int) -> dict[str, Any]:
    shipped = shipped_evaluator()

    def score(batch: Batch) -> None:
        grades = list(shipped.grade(batch[0], [Passage(id=str(n), text=text) for n, text in enumerate(batch[1])]))
        if any(grade.failed for grade in grades):
            raise SystemExit(next(grade.error for grade in grades if grade.failed))

    return timed(score, repeats)


def cosine(repeats: int) -> dict[str, Any]:
    model = E5(threads=THREADS)

    def score(batch: Batch) -> object:
        vectors = model.embed([batch[0], *batch[1]])
        return vectors[1:] @ vectors[0]

    tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    assert len(tokenizer.encode(batches(1)[0][1][0]).ids) == CHUNK_TOKENS + 2, "a chunk is not of 200 tokens"
    return timed(score, repeats)


def t5_large(repeats: int) -> dict[str, Any]:
    """T5-large's shape with random weights in float32 and random token ids: the work is the same, nothing is loaded."""
    try:
        import torch
        from transformers import T5Config, T5ForSequenceClassification  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise SystemExit(INSTALL) from None
    torch.set_num_threads(THREADS)
    config = T5Config(**T5_LARGE, num_labels=1, use_cache=False, decoder_start_token_id=0)
    model = T5ForSequenceClassification(config).eval()
    end = config.eos_token_id

    def score(batch: Batch) -> object:
        length = QUESTION_TOKENS + CHUNK_TOKENS
        ids = torch.randint(10, config.vocab_size - 200, (len(batch[1]), length))
        ids[:, -1] = end  # the classifier reads the state at the end token
        with torch.inference_mode():
            return model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits

    parameters = sum(weights.numel() for weights in model.parameters())
    return {**timed(score, repeats), "parameters": parameters}


WAYS: dict[str, tuple[Callable[[int], dict[str, Any]], int]] = {
    "evaluator": (evaluator, 30),
    "cosine": (cosine, 30),
    "t5-large": (t5_large, 3),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("--repeats", type=int)
    given = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
    measure, repeats = WAYS[given.way]
    print(json.dumps(measure(given.repeats or repeats)))


if __name__ == "__main__":
    main()
