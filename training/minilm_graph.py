"""The encoder of all-MiniLM-L6-v2 as an ONNX graph: float32 with probes, or int8 for the CPU.

The graph takes token ids (batch, length) without padding, all texts of a batch equally long, and gives unit
sentence vectors (batch, 384). No padding means no mask, so attention runs in its fastest form and a text's
vector does not depend on its neighbours. Activations are quantized with fixed ranges for the same reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

__all__ = ["HIDDEN", "MAX_TOKENS", "Int8Plan", "build"]

HIDDEN, HEADS, LAYERS, MAX_TOKENS = 384, 12, 6, 256
MICROSOFT = "com.microsoft"
Weights = Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Int8Plan:
    """Per linear layer: what each input channel is divided by first, and the range its inputs then have."""

    divisors: Mapping[str, NDArray[np.float32]]
    ranges: Mapping[str, tuple[float, float]]
    weight_bits: int = 7


class _Graph:
    """Nodes and constants as they are added."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def constant(self, name: str, value: NDArray[np.generic]) -> str:
        self.constants.setdefault(name, numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def add(self, kind: str, inputs: list[str], domain: str = "", **attributes: object) -> str:
        return self.add_many(kind, inputs, 1, domain, **attributes)[0]

    def add_many(self, kind: str, inputs: list[str], count: int, domain: str = "", **attributes: object) -> list[str]:
        outputs = [f"{kind}_{len(self.nodes)}_{number}" for number in range(count)]
        self.nodes.append(helper.make_node(kind, inputs, outputs, domain=domain, **attributes))
        return outputs


def quantized_columns(weight: NDArray[np.float32], bits: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """A weight (in, out) as symmetric integers with one scale an output column."""
    top = (1 << (bits - 1)) - 1
    scale = np.maximum(np.abs(weight).max(axis=0), 1e-8) / top
    return np.clip(np.rint(weight / scale), -top, top).astype(np.int8), scale.astype(np.float32)


def build(weights: Weights, plan: Int8Plan | None = None) -> tuple[onnx.ModelProto, dict[str, str]]:
    """The model, and for each linear layer the name of its input tensor.

    Without a plan: float32, exact GELU, and those inputs are outputs too, so that ranges can be measured.
    With a plan: int8 weights (one scale an output column), fixed uint8 activations, int8 word table.
    """
    graph, probes = _Graph(), dict[str, str]()

    def linear(x: str, name: str, weight: NDArray[np.float32], bias: NDArray[np.float32] | None) -> str:
        probes[name] = x
        if plan is None:
            product = graph.add("MatMul", [x, graph.constant(f"{name}.weight", weight)])
            return product if bias is None else graph.add("Add", [product, graph.constant(f"{name}.bias", bias)])
        divisor = plan.divisors[name]
        x = graph.add("Mul", [x, graph.constant(f"{name}.multiplier", (1 / divisor).astype(np.float32))])
        integers, scale = quantized_columns(weight * divisor[:, None], plan.weight_bits)
        low, high = min(plan.ranges[name][0], 0.0), max(plan.ranges[name][1], 0.0)
        step = np.float32((high - low) / 255)
        x_scale = graph.constant(f"{name}.input_scale", np.array(step, np.float32))
        x_zero = graph.constant(f"{name}.input_zero", np.array(np.clip(round(-low / step), 0, 255), np.uint8))
        quantized = graph.add("QuantizeLinear", [x, x_scale, x_zero])
        inputs = [quantized, graph.constant(f"{name}.weight", integers), x_scale]
        inputs += [graph.constant(f"{name}.weight_scale", scale), x_zero, ""]
        if bias is not None:
            inputs.append(graph.constant(f"{name}.bias", bias))
        return graph.add("MatMulIntegerToFloat", inputs, MICROSOFT)

    def normalized(x: str, name: str) -> str:
        # Not the fused SkipLayerNormalization: its CPU kernel measured nine times slower than this one.
        scale = graph.constant(f"{name}.weight", weights[f"{name}.weight"])
        shift = graph.constant(f"{name}.bias", weights[f"{name}.bias"])
        return graph.add("LayerNormalization", [x, scale, shift], epsilon=1e-12, axis=-1)

    x = normalized(_embedded(graph, weights, plan is not None), "embeddings.LayerNorm")
    for layer in range(LAYERS):
        part = f"encoder.layer.{layer}"

        def pair(name: str, part: str = part) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
            return weights[f"{part}.{name}.weight"].T, weights[f"{part}.{name}.bias"]

        sides = [pair(f"attention.self.{side}") for side in ("query", "key", "value")]
        joined = [np.concatenate(tensors, axis=-1) for tensors in zip(*sides, strict=True)]
        heads = graph.add_many("Split", [linear(x, f"{layer}.qkv", *joined)], 3, axis=-1, num_outputs=3)
        attended = graph.add("MultiHeadAttention", heads, MICROSOFT, num_heads=HEADS)
        attended = linear(attended, f"{layer}.out", *pair("attention.output.dense"))
        x = normalized(graph.add("Add", [attended, x]), f"{part}.attention.output.LayerNorm")
        weight, bias = pair("intermediate.dense")
        hidden = linear(x, f"{layer}.up", weight, None)
        # The tanh form costs a third of the exact one; its difference is far below one quantization step.
        gelu = "BiasGelu" if plan is None else "FastGelu"
        hidden = graph.add(gelu, [hidden, graph.constant(f"{layer}.up.bias", bias)], MICROSOFT)
        hidden = linear(hidden, f"{layer}.down", *pair("output.dense"))
        x = normalized(graph.add("Add", [hidden, x]), f"{part}.output.LayerNorm")
    mean = graph.add("ReduceMean", [x, graph.constant("axis", np.array([1], np.int64))], keepdims=0)
    graph.nodes.append(helper.make_node("LpNormalization", [mean], ["embedding"], axis=-1, p=2))
    return _model(graph, list(dict.fromkeys(probes.values())) if plan is None else []), probes


def _embedded(graph: _Graph, weights: Weights, int8: bool) -> str:
    """Word plus position plus (always the first) type embedding."""
    words = weights["embeddings.word_embeddings.weight"]
    if int8:
        rows, scale = quantized_columns(words.T, 8)
        picked = graph.add("Gather", [graph.constant("words", rows.T), "input_ids"])
        scales = graph.add("Gather", [graph.constant("words.scale", scale[:, None]), "input_ids"])
        word = graph.add("Mul", [graph.add("Cast", [picked], to=TensorProto.FLOAT), scales])
    else:
        word = graph.add("Gather", [graph.constant("words", words), "input_ids"])
    table = weights["embeddings.position_embeddings.weight"][:MAX_TOKENS]
    table = table + weights["embeddings.token_type_embeddings.weight"][0]
    length = graph.add("Shape", ["input_ids"], start=1, end=2)
    start = graph.constant("start", np.array([0], np.int64))
    return graph.add("Add", [word, graph.add("Slice", [graph.constant("positions", table), start, length])])


def _model(graph: _Graph, probes: list[str]) -> onnx.ModelProto:
    inputs = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "length"])]
    outputs = [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", HIDDEN])]
    outputs += [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in probes]
    body = helper.make_graph(graph.nodes, "all-MiniLM-L6-v2", inputs, outputs, list(graph.constants.values()))
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(body, opset_imports=opsets, ir_version=9, producer_name="crag-explorer")
