"""Makes crag/models/any-language of a training checkpoint of the body e5-12: quantize, verify, write.

    python -m training.export_any_language CHECKPOINT [--data FOLDER]

Activation ranges come from windows that the model was fitted on. The words stay in the embedder's file; where they lie
in it is written down. `training.calibrate_languages` then writes the fitted head.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from numpy.typing import NDArray

from corpora.measures import auc
from corpora.pairs import Corpus, held_out
from corpora.places import parser_of
from crag.models.any_language import FOLDER, MODEL_ID, AnyLanguage, Rows
from crag.models.runtime import E5
from training.bodies import BODIES, SCALES, WORDS
from training.export_evaluator import write
from training.minilm_graph import build_evaluator, measured
from training.samples import Sample
from training.torch_model import published_names
from training.vectors import remembered
from training.windows import Windows


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("checkpoint", type=Path)
    given = parser.parse_args()
    reader = BODIES["e5-12"].reader()
    weights = published_names(torch.load(given.checkpoint, "cpu", weights_only=True))
    pairs = Windows(Corpus(given.data, remembered)).epoch(1)
    dice, table = random.Random(5), place_table()
    rows = Rows(E5.folder / "model.onnx", **table)
    fitted = reader.read(dice.sample([pair for pair in pairs if not held_out(pair.group)], 600))
    plain, inputs = build_evaluator(weights)
    plan = measured(plain, inputs, feeds(fitted, rows))
    files = {"model.onnx": build_evaluator(weights, plan)[0].SerializeToString()}
    files["words.json"] = (json.dumps({"of": E5.id, **table}, indent=1) + "\n").encode()
    write(files, FOLDER, MODEL_ID)
    apart = dice.sample([pair for pair in pairs if held_out(pair.group)], 600)
    session = onnxruntime.InferenceSession(plain.SerializeToString(), providers=["CPUExecutionProvider"])
    whole = np.array([session.run(["relevance"], feed)[0][0] for feed in feeds(reader.read(apart), rows)], np.float64)
    shipped = AnyLanguage(E5())
    found = [shipped.read(pair.question, [pair.read])[0] for pair in apart]
    small = np.array([each.relevance if each else -12.0 for each in found])
    labels = np.array([int(pair.label > 0.5) for pair in apart])
    print("correlation", np.corrcoef(whole, small)[0, 1], "auc", auc(labels, whole), auc(labels, small))


def place_table() -> dict[str, int]:
    """Where the embedder's words and their scales begin in its file, and their numbers."""
    data = (E5.folder / "model.onnx").read_bytes()
    given = {each.name: each for each in onnx.load_model_from_string(data).graph.initializer}
    integers, scales = given[WORDS].raw_data, onnx.numpy_helper.to_array(given[SCALES]).tobytes()
    words, size = given[WORDS].dims
    block = size // given[SCALES].dims[1]
    return {"integers": data.index(integers), "scales": data.index(scales), "words": words, "block": block}


def feeds(samples: Sequence[Sample], rows: Rows) -> Iterator[dict[str, NDArray[np.generic]]]:
    for sample in samples:
        yield {
            "words": rows.read(np.array([sample.ids], np.int64)),
            "kinds": np.array([sample.kinds], np.int64),
            "asked": np.array([sample.asked], np.int64),
        }


if __name__ == "__main__":
    main()
