"""The embedding models that ship, run by onnxruntime on the CPU in int8: texts to unit vectors of 384 numbers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crag.core.config import AppConfig
from crag.core.protocols import Embedder
from crag.models.runtime import Loaded, load, sentence_vectors, verified_files

MAX_TOKENS = 256
"""Tokens of a text that its vector is made of, the two special ones and the prefix included."""
PASSAGE, QUESTION = "passage: ", "query: "
"""The prefixes of texts and of questions that E5 was trained with."""


class _OnnxEmbedder:
    """Safe to call from several threads; loaded at the first call. A vector depends on its text alone."""

    id, title, folder = "", "", Path()
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
        return self._vectors(texts) if texts else np.zeros((0, self.dimension), np.float32)

    def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return sentence_vectors(self._load()[0], texts, self.dimension)

    def _load(self) -> tuple[Loaded, NDArray[np.float32]]:
        """The model, and the mean vectors that come with it."""
        with self._lock:
            if self._model is None:
                files = verified_files(self._folder, self.id)
                centres = np.frombuffer(files.get("centres.f32", b""), "<f4").reshape(-1, self.dimension)
                self._model = load(files, self._threads, self.title, MAX_TOKENS), centres
            return self._model


class MiniLM(_OnnxEmbedder):
    """all-MiniLM-L6-v2. Its activations are quantized with fixed ranges."""

    id = "all-minilm-l6-v2-int8-1"
    title = "embedding model"
    folder = Path(__file__).parent / "all-minilm-l6-v2"


class E5(_OnnxEmbedder):
    """multilingual-e5-small, for texts in many languages.

    The model's own cosines lie between 0.7 and 0.9 for any two texts. So the mean vector of texts, and of questions
    theirs, is taken off: cosines then spread as the other model's do, and one set of search weights fits both.
    """

    id = "multilingual-e5-small-int8-1"
    title = "multilingual embedding model"
    folder = Path(__file__).parent / "multilingual-e5-small"

    def embed_question(self, text: str) -> NDArray[np.float32]:
        """The vector of a text to search by, shape (384,). Raises what `embed` does."""
        found: NDArray[np.float32] = self._centred(QUESTION, [text])[0]
        return found

    def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._centred(PASSAGE, texts)

    def _centred(self, prefix: str, texts: Sequence[str]) -> NDArray[np.float32]:
        loaded, centres = self._load()
        vectors = sentence_vectors(loaded, [prefix + text for text in texts], self.dimension)
        vectors -= centres[0 if prefix == PASSAGE else 1]
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


EMBEDDERS: Mapping[str, Callable[..., Embedder]] = {"multilingual": E5, "small": MiniLM}
"""By their names in `AppConfig.models.embedding`."""


def embedder_of(config: AppConfig) -> Embedder:
    """The model that a configuration names, not yet loaded."""
    return EMBEDDERS[config.models.embedding](threads=config.models.threads)
