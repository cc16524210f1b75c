"""The encoder of all-MiniLM-L6-v2 as ONNX graphs, for sentence vectors and for the evaluator, in float32 or int8.

Both take token ids (batch, length) without padding, all texts of a batch equally long. The first gives unit
sentence vectors (batch, 384); the second takes kinds of tokens and the number of question tokens too, and gives a
relevance logit (batch) and start, end and keep logits (batch, length). No padding means no mask, so attention runs in
its fastest form and a text's result does not depend on its neighbours. Activations are quantized with fixed ranges for
the same reason. The float32 form also gives the inputs of its linear layers, to measure those ranges.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # else it reports its use to its maker
import onnxruntime

HIDDEN, HEADS, MAX_TOKENS = 384, 12, 256
READ_OUT = ("relevance_hidden", "relevance", "closeness", "span", "keep")
"""The evaluator's heads: what is read from the encoder."""
MICROSOFT = "com.microsoft"
OUTLIER = 1.5
"""Input channels whose largest value is over so many times the layer's median channel are scaled down."""
IDS = ("batch", "length")
Weights = Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Int8Plan:
    """Per linear layer: what each input channel is divided by first, and the range its inputs then have."""

    divisors: Mapping[str, NDArray[np.float32]]
    ranges: Mapping[str, tuple[float, float]]
    weight_bits: int = 7


def measured(model: onnx.ModelProto, inputs: dict[str, str], feeds: Iterable[dict[str, NDArray[np.int64]]]) -> Int8Plan:
    """Ranges of every linear layer's input over `feeds`, after its outlier channels are scaled down.

    A few channels of this model carry values ten times the others'; one shared range would leave the others
    with four bits. Dividing those channels, and multiplying their weights, keeps the product the same.
    """
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    low: dict[str, NDArray[np.float32]] = {}
    high: dict[str, NDArray[np.float32]] = {}
    for feed in feeds:
        values = session.run(list(inputs.values()), feed)
        for name, value in zip(inputs, values, strict=True):
            low[name] = np.minimum(low.get(name, np.float32(0)), value.min(axis=(0, 1)))
            high[name] = np.maximum(high.get(name, np.float32(0)), value.max(axis=(0, 1)))
    divisors, ranges = {}, {}
    for name in inputs:
        peak = np.maximum(-low[name], high[name])
        divisor = np.maximum(1, peak / (OUTLIER * np.median(peak))).astype(np.float32)
        divisors[name] = divisor
        ranges[name] = (float((low[name] / divisor).min()), float((high[name] / divisor).max()))
    return Int8Plan(divisors, ranges)


def layers_of(weights: Mapping[str, object]) -> int:
    """How many layers an encoder has, by its weights' published names."""
    return 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("encoder.layer."))


@dataclass(frozen=True, slots=True)
class FourBits:
    """A table of rows in blocks of `block` numbers: `integers` from -8 to 7, and one scale for each block."""

    integers: NDArray[np.int8]
    scales: NDArray[np.float32]
    block: int


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


def build(
    weights: Weights, plan: Int8Plan | None = None, *, words: FourBits | None = None
) -> tuple[onnx.ModelProto, dict[str, str]]:
    """The model of sentence vectors, and for each linear layer the name of its input tensor.

    Without a plan: float32, exact GELU, and those inputs are outputs too, so that ranges can be measured.
    With a plan: int8 weights (one scale an output column), fixed uint8 activations, int8 word table.
    `words` is a word table in 4 bits that stands in for the one in `weights`.
    """
    graph = _Graph()
    table = weights["embeddings.position_embeddings.weight"][:MAX_TOKENS]
    table = table + weights["embeddings.token_type_embeddings.weight"][0]
    embedded = _embedded(graph, weights, table, plan is not None, words)
    x, probes = _encoded(graph, weights, plan, embedded, range(layers_of(weights)))
    mean = graph.add("ReduceMean", [x, graph.constant("axis", np.array([1], np.int64))], keepdims=0)
    graph.nodes.append(helper.make_node("LpNormalization", [mean], ["embedding"], axis=-1, p=2))
    outputs = {"embedding": ["batch", HIDDEN]}
    return _model(graph, "all-MiniLM-L6-v2", {"input_ids": IDS}, outputs, probes if plan is None else {}), probes


def build_evaluator(weights: Weights, plan: Int8Plan | None = None) -> tuple[onnx.ModelProto, dict[str, str]]:
    """The evaluator's cross-encoder in the same two forms; its heads stay float32.

    `weights` holds the encoder's tensors under the published names, and `kinds`, `relevance_hidden.*`,
    `relevance.*`, `closeness.*`, `span.*`, `keep.*` as `training.torch_model` trains them. Where it has no words, the
    graph takes `words`, their rows (batch, length, 384), in place of `input_ids`.
    """
    graph, final = _Graph(), layers_of(weights) - 1
    positions, given = weights["embeddings.position_embeddings.weight"], "embeddings.word_embeddings.weight" in weights
    x = _embedded(graph, weights, positions, plan is not None) if given else _placed(graph, "words", positions)
    kinds = graph.add("Gather", [graph.constant("kinds.table", weights["kinds"]), "kinds"])
    read, probes = _encoded(graph, weights, plan, graph.add("Add", [x, kinds]), range(final))

    def number(name: str, *value: int) -> str:
        return graph.constant(name, np.array(value, np.int64))

    def head(x: str, name: str) -> str:
        weight = graph.constant(f"{name}.weight", weights[f"{name}.weight"].T)
        return graph.add(
            "Add", [graph.add("MatMul", [x, weight]), graph.constant(f"{name}.bias", weights[f"{name}.bias"])]
        )

    # The last layer's work for [CLS] and the question alone: nothing reads the passage's part of it.
    end = graph.add("Add", ["asked", number("one", 1)])
    asked = graph.add("Slice", [read, number("zero", 0), end, "one"])
    x, last = _layer(graph, weights, plan, read, final, asked)
    first = graph.add("Squeeze", [graph.add("Gather", [x, "zero"], axis=1), "one"])
    question = graph.add("Slice", [x, "one", end, "one"])
    mean = graph.add("ReduceMean", [question, "one"], keepdims=0)
    hidden = graph.add("Tanh", [head(graph.add("Concat", [first, mean], axis=-1), "relevance_hidden")])
    for name in ("relevance", "closeness"):
        graph.nodes.append(helper.make_node("Squeeze", [head(hidden, name), "one"], [name]))
    sides = graph.add_many("Split", [head(read, "span")], 2, axis=-1, num_outputs=2)
    for side, name in zip(sides, ("start", "end"), strict=True):
        graph.nodes.append(helper.make_node("Squeeze", [side, number("two", 2)], [name]))
    # Not one product with the span's: its numbers would then differ from those before there was a keep head.
    graph.nodes.append(helper.make_node("Squeeze", [head(read, "keep"), number("two", 2)], ["keep"]))
    probes |= last
    inputs = ({"input_ids": IDS} if given else {"words": (*IDS, HIDDEN)}) | {"kinds": IDS, "asked": [1]}
    outputs: dict[str, list[str | int]] = {"relevance": ["batch"], "closeness": ["batch"]}
    outputs |= {"start": list(IDS), "end": list(IDS), "keep": list(IDS)}
    return _model(graph, "crag-evaluator", inputs, outputs, probes if plan is None else {}), probes


def _encoded(
    graph: _Graph, weights: Weights, plan: Int8Plan | None, x: str, layers: Sequence[int]
) -> tuple[str, dict[str, str]]:
    """The given layers over embedded tokens: their last hidden states, and each linear layer's input."""
    probes = dict[str, str]()
    x = _normalized(graph, weights, x, "embeddings.LayerNorm")
    for layer in layers:
        x, inputs = _layer(graph, weights, plan, x, layer)
        probes |= inputs
    return x, probes


def _layer(
    graph: _Graph, weights: Weights, plan: Int8Plan | None, x: str, layer: int, only: str = ""
) -> tuple[str, dict[str, str]]:
    """One layer's hidden states and its linear layers' inputs. `only`: the part of `x` whose states are wanted."""
    probes, part = dict[str, str](), f"encoder.layer.{layer}"

    def linear(x: str, name: str, weight: NDArray[np.float32], bias: NDArray[np.float32] | None) -> str:
        probes[name] = x
        return _linear(graph, plan, x, name, weight, bias)

    def pair(name: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        return weights[f"{part}.{name}.weight"].T, weights[f"{part}.{name}.bias"]

    def joined(*names: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        tensors = [pair(f"attention.self.{name}") for name in names]
        return np.concatenate([t[0] for t in tensors], axis=-1), np.concatenate([t[1] for t in tensors])

    def split(x: str, count: int) -> list[str]:
        return graph.add_many("Split", [x], count, axis=-1, num_outputs=count)

    if only:
        heads = [linear(only, f"{layer}.q", *joined("query"))]
        heads += split(linear(x, f"{layer}.kv", *joined("key", "value")), 2)
    else:
        heads = split(linear(x, f"{layer}.qkv", *joined("query", "key", "value")), 3)
    attended = graph.add("MultiHeadAttention", heads, MICROSOFT, num_heads=HEADS)
    attended = linear(attended, f"{layer}.out", *pair("attention.output.dense"))
    x = _normalized(graph, weights, graph.add("Add", [attended, only or x]), f"{part}.attention.output.LayerNorm")
    weight, bias = pair("intermediate.dense")
    hidden = linear(x, f"{layer}.up", weight, None)
    # The tanh form costs a third of the exact one; its difference is far below one quantization step.
    gelu = "BiasGelu" if plan is None else "FastGelu"
    hidden = graph.add(gelu, [hidden, graph.constant(f"{layer}.up.bias", bias)], MICROSOFT)
    hidden = linear(hidden, f"{layer}.down", *pair("output.dense"))
    return _normalized(graph, weights, graph.add("Add", [hidden, x]), f"{part}.output.LayerNorm"), probes


def _linear(
    graph: _Graph,
    plan: Int8Plan | None,
    x: str,
    name: str,
    weight: NDArray[np.float32],
    bias: NDArray[np.float32] | None,
) -> str:
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


def _normalized(graph: _Graph, weights: Weights, x: str, name: str) -> str:
    # Not the fused SkipLayerNormalization: its CPU kernel measured nine times slower than this one.
    scale = graph.constant(f"{name}.weight", weights[f"{name}.weight"])
    shift = graph.constant(f"{name}.bias", weights[f"{name}.bias"])
    return graph.add("LayerNormalization", [x, scale, shift], epsilon=1e-12, axis=-1)


def _embedded(
    graph: _Graph, weights: Weights, table: NDArray[np.float32], int8: bool, four: FourBits | None = None
) -> str:
    """Word embedding plus a row of `table` for each position."""
    if four is not None:
        return _placed(graph, _four_bit_rows(graph, four), table)
    words = weights["embeddings.word_embeddings.weight"]
    if int8:
        rows, scale = quantized_columns(words.T, 8)
        picked = graph.add("Gather", [graph.constant("words", rows.T), "input_ids"])
        scales = graph.add("Gather", [graph.constant("words.scale", scale[:, None]), "input_ids"])
        word = graph.add("Mul", [graph.add("Cast", [picked], to=TensorProto.FLOAT), scales])
    else:
        word = graph.add("Gather", [graph.constant("words", words), "input_ids"])
    return _placed(graph, word, table)


def _four_bit_rows(graph: _Graph, four: FourBits) -> str:
    """The rows of the tokens, made to numbers when they are read: two to a byte, the scales in float16."""
    low, high = (four.integers[:, side::2].astype(np.uint8) & 15 for side in (0, 1))
    packed = np.ascontiguousarray(low | (high << 4)).tobytes()
    graph.constants["words"] = helper.make_tensor("words", TensorProto.INT4, four.integers.shape, packed, raw=True)
    inputs = ["words", "input_ids", graph.constant("words.scale", four.scales.astype(np.float16))]
    rows = graph.add("GatherBlockQuantized", inputs, MICROSOFT, gather_axis=0, quantize_axis=1, block_size=four.block)
    return graph.add("Cast", [rows], to=TensorProto.FLOAT)


def _placed(graph: _Graph, word: str, table: NDArray[np.float32]) -> str:
    """Each token's row plus the one of its position."""
    length = graph.add("Shape", [word], start=1, end=2)
    start = graph.constant("start_at", np.array([0], np.int64))
    return graph.add("Add", [word, graph.add("Slice", [graph.constant("positions", table), start, length])])


def _model(
    graph: _Graph,
    name: str,
    inputs: Mapping[str, Sequence[str | int]],
    outputs: Mapping[str, Sequence[str | int]],
    probes: Mapping[str, str],
) -> onnx.ModelProto:
    kinds = {key: TensorProto.FLOAT if key == "words" else TensorProto.INT64 for key in inputs}
    given = [helper.make_tensor_value_info(key, kinds[key], list(shape)) for key, shape in inputs.items()]
    made = [helper.make_tensor_value_info(key, TensorProto.FLOAT, list(shape)) for key, shape in outputs.items()]
    made += [helper.make_tensor_value_info(key, TensorProto.FLOAT, None) for key in dict.fromkeys(probes.values())]
    body = helper.make_graph(graph.nodes, name, given, made, list(graph.constants.values()))
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(body, opset_imports=opsets, ir_version=9, producer_name="crag-explorer")
