"""The multilingual embedding model: multilingual-e5-small in int8, run by onnxruntime on the CPU."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crag.models.files import verified_files
from crag.models.runtime import Loaded, batches, load, readable

FOLDER = Path(__file__).parent / "multilingual-e5-small"
MAX_TOKENS = 256
"""A text's vector is made of its first so many tokens, the two special ones and the prefix included."""
PASSAGE, QUESTION = "passage: ", "query: "
"""What the model was trained to read before a text that answers, and before one that asks."""


class E5:
    """Texts in many languages to unit vectors of 384 numbers. Safe to call from several threads; loaded when first used.

    A vector depends on the text alone: texts are batched only with texts of the same number of tokens (so
    nothing is padded) and activations are quantized with fixed ranges.
    """

    id = "multilingual-e5-small-int8-1"
    dimension = 384

    def __init__(self, threads: int = 0, folder: Path = FOLDER) -> None:
        """`threads` 0: as many as this process may use. `folder` holds the files the manifest lists."""
        self._threads = threads
        self._folder = folder
        self._lock = threading.Lock()
        self._loaded: Loaded | None = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of texts to be found: shape (len(texts), 384), float32, rows of length 1. Any text gives one.

        Only the first 256 tokens of a text count. Raises ModelError if the model's files are missing or damaged.
        """
        return self._embed([PASSAGE + text for text in texts])

    def embed_question(self, text: str) -> NDArray[np.float32]:
        """The vector of a text to search by, shape (384,). Raises what `embed` does."""
        found: NDArray[np.float32] = self._embed([QUESTION + text])[0]
        return found

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        if not texts:
            return vectors
        loaded = self._load()
        encoded = loaded.tokenizer.encode_batch_fast([readable(text) for text in texts])
        tokens = [encoding.ids for encoding in encoded]

        def run(batch: list[int]) -> None:
            ids = np.array([tokens[index] for index in batch], np.int64)
            vectors[batch] = loaded.session.run(["embedding"], {"input_ids": ids})[0]

        loaded.each(run, batches([len(ids) for ids in tokens]))
        return vectors

    def _load(self) -> Loaded:
        with self._lock:
            if self._loaded is None:
                files = verified_files(self._folder, self.id)
                self._loaded = load(files, self._threads, "multilingual embedding model", MAX_TOKENS)
            return self._loaded
