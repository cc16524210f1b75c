"""The shipped embedding model: all-MiniLM-L6-v2 in int8, run by onnxruntime on the CPU."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crag.models.runtime import Loaded, load, sentence_vectors, verified_files

FOLDER = Path(__file__).parent / "all-minilm-l6-v2"
MAX_TOKENS = 256
"""A text's vector is made of its first so many tokens, the two special ones included."""


class MiniLM:
    """Texts to unit vectors of 384 numbers. Safe to call from several threads; loaded at the first call.

    A vector depends on the text alone: texts are batched only with texts of the same number of tokens (so
    nothing is padded) and activations are quantized with fixed ranges.
    """

    id = "all-minilm-l6-v2-int8-1"
    dimension = 384

    def __init__(self, threads: int = 0, folder: Path = FOLDER) -> None:
        """`threads` 0: as many as this process may use. `folder` holds the files the manifest lists."""
        self._threads = threads
        self._folder = folder
        self._lock = threading.Lock()
        self._loaded: Loaded | None = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (len(texts), 384), float32, rows of length 1. Any text, also an empty one, gives a vector.

        Only the first 256 tokens of a text count. Raises ModelError if the model's files are missing or damaged.
        """
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        return sentence_vectors(self._load(), texts, self.dimension)

    def _load(self) -> Loaded:
        with self._lock:
            if self._loaded is None:
                files = verified_files(self._folder, self.id)
                self._loaded = load(files, self._threads, "embedding model", MAX_TOKENS)
            return self._loaded
