"""The shipped evaluator's weights, read back from its int8 graph, so that training can go on from it.

A weight is its integer times the scale of its column, with the division of its input channel undone. Made int8 again it
is the same to half a step; what training adds is learned on weights that already are what will ship.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from crag.models.cross_encoder import FOLDER, MODEL_ID
from crag.models.runtime import verified_files
from training.minilm_graph import READ_OUT


def shipped_weights(folder: Path = FOLDER) -> dict[str, NDArray[np.float32]]:
    """Under the names that `training.minilm_graph.build_evaluator` reads; heads that it has not are left out."""
    graph = onnx.load_model_from_string(verified_files(folder, MODEL_ID)["model.onnx"]).graph
    given = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    found = read_encoder_weights(given)
    found["embeddings.word_embeddings.weight"] = given["words"].astype(np.float32) * given["words.scale"]
    found["embeddings.position_embeddings.weight"] = given["positions"]
    found["kinds"] = given["kinds.table"]
    for head in READ_OUT:
        if f"{head}.weight" in given:
            found[f"{head}.weight"], found[f"{head}.bias"] = given[f"{head}.weight"].T.copy(), given[f"{head}.bias"]
    return found


def read_encoder_weights(given: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[np.float32]]:
    """The layers and norms of an int8 graph, of its constants."""

    def linear(name: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Weight (out, in) and bias."""
        weight = given[f"{name}.weight"].astype(np.float32) * given[f"{name}.weight_scale"]
        return (weight * given[f"{name}.multiplier"][:, None]).T.copy(), given[f"{name}.bias"]

    found = {name: value for name, value in given.items() if "LayerNorm" in name}
    number = 0
    while f"{number}.out.weight" in given:
        part = f"encoder.layer.{number}"
        if f"{number}.qkv.weight" in given:
            weight, bias = linear(f"{number}.qkv")
        else:
            halves = linear(f"{number}.q"), linear(f"{number}.kv")
            weight, bias = (np.concatenate(each) for each in zip(*halves, strict=True))
        sides = zip(("query", "key", "value"), np.split(weight, 3), np.split(bias, 3), strict=True)
        for name, rows, shift in sides:
            found[f"{part}.attention.self.{name}.weight"], found[f"{part}.attention.self.{name}.bias"] = rows, shift
        for ours, name in (("out", "attention.output.dense"), ("up", "intermediate.dense"), ("down", "output.dense")):
            found[f"{part}.{name}.weight"], found[f"{part}.{name}.bias"] = linear(f"{number}.{ours}")
        number += 1
    return found
