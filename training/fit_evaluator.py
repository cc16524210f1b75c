"""Fits the local evaluator's head and writes crag/models/local-evaluator.

    python -m training.fit_evaluator [--data FOLDER] [--features FILE]

`--features` keeps the computed features between runs (delete it when the features change). Three quarters of the
articles and questions fit the network, the others calibrate it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from crag.evaluator.features import FEATURES, PassageView, evidence
from crag.evaluator.head import FOLDER, HEAD_ID
from crag.evaluator.lexicon import Lexicon, Question, words_of
from crag.evaluator.sentences import sentence_spans
from crag.models.minilm import MiniLM
from training.evaluator_data import Pair, background, held_out, training_pairs

ROOT = Path(__file__).resolve().parent.parent
HIDDEN, EPOCHS, BATCH = 32, 8, 256


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", type=Path, default=Path(os.environ.get("CRAG_SHARED", ROOT.parent / "shared")) / "data"
    )
    parser.add_argument("--features", type=Path)
    given = parser.parse_args()
    paragraphs, counts = counted(given.data)
    model = MiniLM()
    if given.features and given.features.exists():
        stored = np.load(given.features)
        features, labels, weights, held = (stored[name] for name in ("features", "labels", "weights", "held"))
    else:
        pairs = training_pairs(given.data, model.embed)
        features = featured([(pair.question, pair.text) for pair in pairs], model, Lexicon(paragraphs, counts))
        labels, weights = np.array([pair.label for pair in pairs]), np.array([weight(pair) for pair in pairs])
        held = np.array([held_out(pair.group) for pair in pairs])
        if given.features:
            np.savez(given.features, features=features, labels=labels, weights=weights, held=held)
    write(fitted(features, labels, weights, held), paragraphs, counts)


def weight(pair: Pair) -> float:
    """Other paragraphs of an article are many: half each, so that they do not drown what is hard."""
    return pair.weight * (0.5 if pair.source == "squad other paragraph" else 1.0)


def counted(data: Path) -> tuple[int, dict[str, int]]:
    """In how many background paragraphs each stem stands; stems of fewer than three are left out."""
    texts = dict.fromkeys(background(data))
    counts = Counter(root for text in texts for root in words_of(text).content)
    return len(texts), {root: count for root, count in sorted(counts.items()) if count >= 3}


def featured(pairs: Sequence[tuple[str, str]], model: MiniLM, lexicon: Lexicon) -> NDArray[np.float32]:
    """Shape (len(pairs), features): each sentence and question is embedded once."""
    spans = {text: sentence_spans(text) for text in dict.fromkeys(text for _, text in pairs)}
    sentences = list(dict.fromkeys(text[start:end] for text, found in spans.items() for start, end in found))
    row = {sentence: number for number, sentence in enumerate(sentences)}
    vectors = np.concatenate([model.embed(sentences[at : at + 4096]) for at in range(0, len(sentences), 4096)])
    views = {
        text: PassageView.read(text, found, vectors[[row[text[start:end]] for start, end in found]])
        for text, found in spans.items()
        if found
    }
    questions = list(dict.fromkeys(question for question, _ in pairs))
    asked = {
        question: (Question.read(question, lexicon), vector)
        for question, vector in zip(questions, model.embed(questions), strict=True)
    }
    features = np.zeros((len(pairs), len(FEATURES)), np.float32)
    for number, (question, text) in enumerate(pairs):
        if text in views:
            features[number] = evidence(*asked[question], views[text]).values
    return features


def fitted(
    features: NDArray[np.float32], labels: NDArray[np.int64], weights: NDArray[np.float64], held: NDArray[np.bool_]
) -> dict[str, object]:
    """One hidden layer by weighted cross-entropy, then Platt scaling on what was held out."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    mean, scale = features[~held].mean(axis=0), features[~held].std(axis=0) + 1e-6
    inputs = torch.tensor(np.clip((features - mean) / scale, -4, 4), dtype=torch.float32)
    wanted, importance = torch.tensor(labels, dtype=torch.float32), torch.tensor(weights, dtype=torch.float32)
    network = torch.nn.Sequential(
        torch.nn.Linear(len(FEATURES), HIDDEN), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(HIDDEN, 1)
    )
    optimizer = torch.optim.AdamW(network.parameters(), lr=2e-3, weight_decay=1e-3)
    loss_of = torch.nn.functional.binary_cross_entropy_with_logits
    rows = torch.tensor(np.flatnonzero(~held))
    for _ in range(EPOCHS):
        for batch in rows[torch.randperm(len(rows))].split(BATCH):
            loss = loss_of(network(inputs[batch])[:, 0], wanted[batch], weight=importance[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    network.eval()
    with torch.no_grad():
        raw = network(inputs)[:, 0]
    slope, offset = torch.ones(1, requires_grad=True), torch.zeros(1, requires_grad=True)
    kept = torch.tensor(np.flatnonzero(held))
    solver = torch.optim.LBFGS([slope, offset], max_iter=100)

    def step() -> torch.Tensor:
        solver.zero_grad()
        loss = loss_of(slope * raw[kept] + offset, wanted[kept], weight=importance[kept])
        loss.backward()
        return loss

    solver.step(step)
    first, last = network[0], network[3]
    return {
        "features": FEATURES,
        "mean": _rounded(mean),
        "scale": _rounded(scale),
        "hidden": _rounded(first.weight.detach().numpy().T),
        "hidden_bias": _rounded(first.bias.detach().numpy()),
        "output": _rounded(last.weight.detach().numpy()[0]),
        "output_bias": round(float(last.bias.detach()), 6),
        "slope": round(float(slope.detach()), 6),
        "offset": round(float(offset.detach()), 6),
    }


def write(head: dict[str, object], paragraphs: int, counts: dict[str, int]) -> None:
    """The files and the manifest that the loader checks them by."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    contents = {"head.json": head, "lexicon.json": {"paragraphs": paragraphs, "counts": counts}}
    digests = {}
    for name, content in contents.items():
        data = (json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n").encode()
        (FOLDER / name).write_bytes(data)
        digests[name] = hashlib.sha256(data).hexdigest()
    manifest = {"id": HEAD_ID, "sha256": digests}
    (FOLDER / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def _rounded(values: NDArray[np.floating]) -> list[object]:
    rounded: list[object] = np.round(values.astype(float), 6).tolist()
    return rounded


if __name__ == "__main__":
    main()
