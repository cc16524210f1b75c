"""How every shipped model is run, on the CPU, one thread a call; and the embedding model: texts to unit vectors."""

from __future__ import annotations

import hashlib
import json
import math
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from crag.core.errors import ModelError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    import onnxruntime
    from tokenizers import Tokenizer


def verified_files(folder: Path, expected_id: str) -> dict[str, bytes]:
    """The files that `folder/manifest.json` lists, by name, each equal to its listed SHA-256.

    Raises ModelError where the manifest or a file is missing, unreadable or changed, or where the manifest
    belongs to another model than `expected_id`.
    """
    manifest = _manifest(folder)
    if manifest.get("id") != expected_id:
        raise ModelError(f"The model in crag/models/{folder.name} is {manifest.get('id')!r}, not {expected_id!r}.")
    found = {}
    for name, digest in manifest["sha256"].items():
        try:
            data = (folder / name).read_bytes()
        except OSError as error:
            raise ModelError(f"The model file crag/models/{folder.name}/{name} can't be read ({error}).") from error
        if hashlib.sha256(data).hexdigest() != digest:
            raise ModelError(f"The model file crag/models/{folder.name}/{name} is damaged: its hash is wrong.")
        found[name] = data
    return found


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"The manifest of crag/models/{folder.name} can't be read ({error}).") from error
    if not isinstance(manifest, dict) or not isinstance(manifest.get("sha256"), dict):
        raise ModelError(f"The manifest of crag/models/{folder.name} lists no files.")
    return manifest


MAX_CHARACTERS = 16_000
"""What comes later in a text is never even cut into tokens."""
BATCH_TOKENS = 1024
"""Tokens in one call of a model: enough to keep the arithmetic busy, little enough to stay in the cache."""


@dataclass(frozen=True, slots=True)
class Loaded:
    tokenizer: Tokenizer
    session: onnxruntime.InferenceSession
    pool: ThreadPoolExecutor

    def each(self, run: Callable[[list[int]], None], dealt: Sequence[list[int]]) -> None:
        """Every batch run: whole ones side by side beat one split over all threads by a fifth."""
        if len(dealt) == 1:
            run(dealt[0])
            return
        for _ in self.pool.map(run, dealt):
            pass


def load(files: dict[str, bytes], threads: int, name: str, max_tokens: int | None = None) -> Loaded:
    """`tokenizer.json` and `model.onnx` of `files`; `threads` 0: as many as this process may use.

    Raises ModelError, which says `name`, if they cannot be used.
    """
    from concurrent.futures import ThreadPoolExecutor

    # onnxruntime reports its use to its maker unless this is set before it is imported.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_buffer(files["tokenizer.json"])
        tokenizer.no_padding()
        if max_tokens is None:
            tokenizer.no_truncation()
        else:
            tokenizer.enable_truncation(max_tokens)
        # "[SEP]" in a document is four characters of text and a word, never a control token.
        tokenizer.encode_special_tokens = True
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.enable_mem_pattern = False  # every batch has another shape: plans would only pile up
        # The graphs are fused by hand; the extended rewrites would put slower kernels back in.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(files["model.onnx"], options, providers=["CPUExecutionProvider"])
        # It keeps the file, 80 MB for all models, to start again with other hardware, which is never done here.
        session.disable_fallback()
        session._model_bytes = None
    except Exception as error:  # both libraries raise bare Exceptions for files they cannot use
        raise ModelError(f"The {name} can't be loaded ({error}).") from error
    return Loaded(tokenizer, session, ThreadPoolExecutor(threads or _cores(), thread_name_prefix="model"))


def sentence_vectors(loaded: Loaded, texts: Sequence[str], dimension: int) -> NDArray[np.float32]:
    """A row for each text, by a model that gives the `embedding` of `input_ids`; at least one text.

    Texts are batched only with texts of the same number of tokens, so nothing is padded and a row depends on its
    text alone.
    """
    vectors = np.zeros((len(texts), dimension), np.float32)
    encoded = loaded.tokenizer.encode_batch_fast([readable(text) for text in texts])
    tokens = [encoding.ids for encoding in encoded]

    def run(batch: list[int]) -> None:
        ids = np.array([tokens[index] for index in batch], np.int64)
        vectors[batch] = loaded.session.run(["embedding"], {"input_ids": ids})[0]

    loaded.each(run, batches([len(ids) for ids in tokens]))
    return vectors


def readable(text: str) -> str:
    """The part of a text that can count, with lone surrogates (which UTF-8 has no bytes for) as question marks."""
    return text[:MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8")


def batches(lengths: Sequence[int], tokens: int = BATCH_TOKENS) -> list[list[int]]:
    """Indexes in batches of one length and at most `tokens` tokens, the longest first so that none ends late."""
    found: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lambda position: -lengths[position]):
        length = lengths[index]
        if found and lengths[found[-1][0]] == length and (len(found[-1]) + 1) * length <= tokens:
            found[-1].append(index)
        else:
            found.append([index])
    return found


def _cores() -> int:
    """The cores this process may use; not every system can say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


MAX_TOKENS = 256
"""Tokens of a text that its vector is made of, the two special ones and the prefix included."""
PASSAGE, QUESTION = "passage: ", "query: "
"""The prefixes of texts and of questions that E5 was trained with."""
COMMON = 200
"""So many word pieces, the commonest of all languages, tell no text from another."""


class E5:
    """multilingual-e5-small, for texts of every language and script.

    The model's own cosines lie between 0.7 and 0.9 for any two texts. So the mean vector of texts, and of questions
    theirs, is taken off: cosines then spread as those of other models do. Its activations are quantized with fixed
    ranges. Safe to call from several threads; loaded at the first call. A vector depends on its text alone.
    """

    id = "multilingual-e5-small-int8-2"
    folder = Path(__file__).parent / "multilingual-e5-small"
    dimension = 384

    def __init__(self, threads: int = 0, folder: Path | None = None) -> None:
        """`threads` 0: as many as this process may use. `folder` holds the files the manifest lists."""
        self._threads, self._folder = threads, folder or self.folder
        self._lock = threading.Lock()
        self._model: tuple[Loaded, NDArray[np.float32]] | None = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (len(texts), 384), float32, rows of length 1. Any text, also an empty one, gives a vector.

        Only the first 256 tokens of a text count. Raises ModelError if the model's files are missing or damaged.
        """
        return self._embed(PASSAGE, texts) if texts else np.zeros((0, self.dimension), np.float32)

    def _load(self) -> tuple[Loaded, NDArray[np.float32]]:
        """The model, and the mean vectors that come with it."""
        with self._lock:
            if self._model is None:
                files = verified_files(self._folder, self.id)
                centres = np.frombuffer(files["centres.f32"], "<f4").reshape(-1, self.dimension)
                self._model = load(files, self._threads, "embedding model", MAX_TOKENS), centres
            return self._model

    def embed_question(self, text: str) -> NDArray[np.float32]:
        """The vector of a text to search by, shape (384,). Raises what `embed` does."""
        found: NDArray[np.float32] = self._embed(QUESTION, [text])[0]
        return found

    def pieces(self, texts: Sequence[str]) -> list[dict[str, float]]:
        """The word pieces with letters or digits of each text's first 256 tokens, in small letters, with their rarity.

        Rarity is 0 and more: the vocabulary of all languages stands in order of frequency, which falls with the place
        in it. Raises what `embed` does.
        """
        loaded, _ = self._load()
        read = loaded.tokenizer.encode_batch([readable(text) for text in texts], add_special_tokens=False)
        return [
            {
                piece.lstrip("▁").casefold(): math.log(id / COMMON)
                for piece, id in zip(encoding.tokens, encoding.ids, strict=True)
                if id > COMMON and any(map(str.isalnum, piece))
            }
            for encoding in read
        ]

    def _embed(self, prefix: str, texts: Sequence[str]) -> NDArray[np.float32]:
        loaded, centres = self._load()
        vectors = sentence_vectors(loaded, [prefix + text for text in texts], self.dimension)
        vectors -= centres[0 if prefix == PASSAGE else 1]
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)
