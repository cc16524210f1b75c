"""The embedding model that every side uses, as a function from texts to vectors. Runs in the side's own environment.

It ships in crag/models. This module needs numpy, onnxruntime and
tokenizers, and nothing of CRAG's engine.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crag.models import runtime

TOKENS = 512
"""Of a text, which the publisher lets the model read."""
PREFIXES = runtime.PASSAGE, runtime.QUESTION
DIMENSION = 384
AT_ONCE = 256


class Embedding:
    """Vectors of length 1. With a `store`, vectors of texts are kept in that file; those of questions never are."""

    def __init__(self, store: Path | None = None) -> None:
        self.id = runtime.E5.id
        files = runtime.verified_files(runtime.E5.folder, self.id)
        self._centres = np.frombuffer(files["centres.f32"], "<f4").reshape(-1, DIMENSION)
        self._loaded = runtime.load(files["model.onnx"], 0, "embedding model")
        self._pieces = runtime.WordPieces(files["tokenizer.json"], TOKENS)
        self._store = None
        if store is not None:
            self._store = sqlite3.connect(store, timeout=60, check_same_thread=False)
            self._store.execute("PRAGMA journal_mode=WAL")
            self._store.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (len(texts), 384)."""
        vectors = np.zeros((len(texts), DIMENSION), np.float32)
        keys = [hashlib.sha256(f"{self.id}\n{text}".encode("utf-8", "replace")).digest() for text in texts]
        new = [row for row, key in enumerate(keys) if not self._recall(key, vectors[row])]
        for start in range(0, len(new), AT_ONCE):
            rows = new[start : start + AT_ONCE]
            vectors[rows] = self._vectors([texts[row] for row in rows], 0)
            if self._store is not None:
                given = [(keys[row], vectors[row].tobytes()) for row in rows]
                with self._store:
                    self._store.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", given)
        return vectors

    def question(self, text: str) -> NDArray[np.float32]:
        """Shape (384,)."""
        found: NDArray[np.float32] = self._vectors([text], 1)[0]
        return found

    def _recall(self, key: bytes, vector: NDArray[np.float32]) -> bool:
        row: Any = self._store and self._store.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()
        if row:
            vector[:] = np.frombuffer(row[0], np.float32)
        return bool(row)

    def _vectors(self, texts: Sequence[str], kind: int) -> NDArray[np.float32]:
        tokens = self._pieces.read([PREFIXES[kind] + text for text in texts])
        vectors = runtime.sentence_vectors(self._loaded, tokens, DIMENSION)
        vectors = vectors - self._centres[kind]
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors, np.float32)
