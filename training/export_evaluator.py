"""Makes crag/models/local-evaluator of a training checkpoint: quantize, count words, verify, write.

    python -m training.export_evaluator CHECKPOINT [--data FOLDER]

Activation ranges come from pairs the model was fitted on. `training.calibrate_evaluator` then writes the fitted head.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import onnx
import torch
from numpy.typing import NDArray

from corpora.measures import auc
from corpora.pair import Pair
from corpora.pairs import Corpus, held_out
from corpora.places import parser_of
from crag.evaluation.heads import FEATURES, STRIP_FEATURES
from crag.models.cross_encoder import FOLDER, MODEL_ID, CrossEncoder
from training.minilm_graph import build_evaluator, measured
from training.samples import Reader, Sample
from training.torch_model import published_names
from training.vectors import remembered
from training.word_counts import lexicon_file

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # else it reports its use to its maker
import onnxruntime

LARGEST = 35_000_000


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("checkpoint", type=Path)
    given = parser.parse_args()
    weights = published_names(torch.load(given.checkpoint, "cpu", weights_only=True))
    pairs = Corpus(given.data, remembered).epoch(1)
    fitted = random.Random(5).sample([pair for pair in pairs if not held_out(pair.group)], 500)
    samples = Reader().read(fitted)
    plain, inputs = build_evaluator(weights)
    plan = measured(plain, inputs, feeds(samples))
    model = build_evaluator(weights, plan)[0]
    files = {"model.onnx": model.SerializeToString(), "tokenizer.json": (FOLDER / "tokenizer.json").read_bytes()}
    files["lexicon.json"] = lexicon_file(given.data)
    # Heads that pass the relevance and the keep logit on, until training.calibrate_evaluator writes the fitted ones.
    strips = {name: float(name == "evidence") for name in STRIP_FEATURES}
    files["head.json"] = head_file([1.0] + [0.0] * (len(FEATURES) - 1), 0.0, list(strips.values()), 0.0)
    print(f"{sum(map(len, files.values())) / 1e6:.1f} MB")
    if sum(map(len, files.values())) > LARGEST:
        sys.exit("The model is larger than 35 MB: do not commit it.")
    write(files)
    apart = random.Random(6).sample([pair for pair in pairs if held_out(pair.group)], 400)
    print(json.dumps(fidelity(plain, Reader().read(apart), apart)))


def fidelity(plain: onnx.ModelProto, samples: list[Sample], pairs: list[Pair]) -> dict[str, float]:
    """The shipped int8 model beside float32 on pairs that set no range: relevance and keep logits, AUC of either."""
    session = onnxruntime.InferenceSession(plain.SerializeToString(), providers=["CPUExecutionProvider"])
    made = [session.run(["relevance", "keep"], feed) for feed in feeds(samples)]
    whole = np.array([relevance[0] for relevance, _ in made], np.float64)
    encoder, read, kept = CrossEncoder(), [], list[tuple[float, float]]()
    for pair, sample, (_, keep) in zip(pairs, samples, made, strict=True):
        [reading] = encoder.read(pair.question, [pair.read])
        read.append(reading.relevance if reading else 0.0)
        own = keep[0, sample.asked + 2 : -1]
        if reading and len(own) == len(reading.keep):
            kept += zip(own, reading.keep, strict=True)
    small, labels = np.array(read), np.array([int(pair.label > 0.5) for pair in pairs])
    return {
        "difference": round(float(np.abs(whole - small).mean()), 4),
        "spread": round(float(whole.std()), 4),
        "correlation": round(float(np.corrcoef(whole, small)[0, 1]), 5),
        "correlation_keep": round(float(np.corrcoef(np.array(kept).T)[0, 1]), 5),
        "auc_float32": round(auc(labels, whole), 4),
        "auc_int8": round(auc(labels, small), 4),
    }


def feeds(samples: list[Sample]) -> Iterator[dict[str, NDArray[np.int64]]]:
    for sample in samples:
        yield {
            "input_ids": np.array([sample.ids], np.int64),
            "kinds": np.array([sample.kinds], np.int64),
            "asked": np.array([sample.asked], np.int64),
        }


def head_file(
    weights: list[float], bias: float, strip_weights: list[float], strip_bias: float, short: object = None
) -> bytes:
    """The content of head.json. `short`: the layer of short answers, if it was fitted for these weights."""
    head: dict[str, object] = {
        "features": list(FEATURES),
        "weights": [round(x, 6) for x in weights],
        "bias": round(bias, 6),
        "strips": {
            "features": list(STRIP_FEATURES),
            "weights": [round(x, 6) for x in strip_weights],
            "bias": round(strip_bias, 6),
        },
    }
    if short:
        head["short"] = short
    return (json.dumps(head, indent=1) + "\n").encode()


def write(files: Mapping[str, bytes], folder: Path = FOLDER, id: str = MODEL_ID) -> None:
    """The files and the manifest that the loader checks them by; files not given stay as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    listed = sorted(path for path in folder.iterdir() if path.name not in {"manifest.json", "MODEL_CARD.md"})
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in listed}
    manifest = {"id": id, "sha256": digests}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
