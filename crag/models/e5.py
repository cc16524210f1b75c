"""The multilingual embedding model: multilingual-e5-small in int8, run by onnxruntime on the CPU."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crag.models.runtime import Loaded, load, sentence_vectors, verified_files

FOLDER = Path(__file__).parent / "multilingual-e5-small"
MAX_TOKENS = 256
"""A text's vector is made of its first so many tokens, the two special ones and the prefix included."""
PASSAGE, QUESTION = "passage: ", "query: "
"""What the model was trained to read before a text that answers, and before one that asks."""


class E5:
    """Texts in many languages to unit vectors of 384 numbers. Safe to call from several threads; loaded at first use.

    The model's own cosines lie between 0.7 and 0.9 for any two texts. So the mean vector of texts, and of questions
    theirs, is taken off: cosines then spread as the other model's do, and one set of search weights fits both. A vector
    depends on its text alone.
    """

    id = "multilingual-e5-small-int8-1"
    dimension = 384

    def __init__(self, threads: int = 0, folder: Path = FOLDER) -> None:
        """`threads` 0: as many as this process may use. `folder` holds the files the manifest lists."""
        self._threads = threads
        self._folder = folder
        self._lock = threading.Lock()
        self._loaded: tuple[Loaded, Mapping[str, NDArray[np.float32]]] | None = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of texts to be found: shape (len(texts), 384), float32, rows of length 1. Any text gives one.

        Only the first 256 tokens of a text count. Raises ModelError if the model's files are missing or damaged.
        """
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        return self._embed(PASSAGE, texts)

    def embed_question(self, text: str) -> NDArray[np.float32]:
        """The vector of a text to search by, shape (384,). Raises what `embed` does."""
        found: NDArray[np.float32] = self._embed(QUESTION, [text])[0]
        return found

    def _embed(self, prefix: str, texts: Sequence[str]) -> NDArray[np.float32]:
        loaded, centres = self._load()
        vectors = sentence_vectors(loaded, [prefix + text for text in texts], self.dimension) - centres[prefix]
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)

    def _load(self) -> tuple[Loaded, Mapping[str, NDArray[np.float32]]]:
        with self._lock:
            if self._loaded is None:
                files = verified_files(self._folder, self.id)
                loaded = load(files, self._threads, "multilingual embedding model", MAX_TOKENS)
                centres = np.frombuffer(files["centres.f32"], "<f4").reshape(2, self.dimension)
                self._loaded = loaded, dict(zip((PASSAGE, QUESTION), centres, strict=True))
            return self._loaded
