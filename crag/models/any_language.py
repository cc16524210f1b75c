"""The reader of every language: the embedder's encoder, trained on windows of some sentences.

Its words are the embedder's own table, of which it reads the rows it needs from that model's file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from crag.core.errors import ModelError
from crag.models.cross_encoder import CrossEncoder, Model, WordReader
from crag.models.runtime import E5, load, verified_files

FOLDER = Path(__file__).parent / "any-language"
MODEL_ID = "any-language-1"
LIFTED = "\u2581"
"""What a piece begins with that begins a word."""
RARE = 40_000
"""Pieces from this number on, and words of more than two pieces, are rare."""
MARKS = 0, 2
"""The places of the pieces that begin an input, and that end its parts."""


class PieceReader(WordReader):
    """Puts the pieces of the embedder's vocabulary together to words."""

    def _word(self, ids: Sequence[int], at: int) -> tuple[int, str, bool]:
        end, word = at + 1, self._piece(ids[at]).removeprefix(LIFTED)
        while end < len(ids) and word and _says(word) and _says(piece := self._piece(ids[end])):
            if piece.startswith(LIFTED):
                break
            word, end = word + piece, end + 1
        said = word.strip("".join({each for each in word if not each.isalnum()})).lower()
        return end, said, end - at > 2 or ids[at] >= RARE


def _says(piece: str) -> bool:
    return any(each.isalnum() for each in piece)


class Rows:
    """The embedder's table of words, read where it lies in that model's file: two 4-bit numbers a byte, and scales."""

    def __init__(self, file: Path, integers: int, scales: int, words: int, block: int) -> None:
        """`integers`, `scales`: where both begin in the file. `block`: numbers that share a scale."""
        self._block = block
        self._integers = np.memmap(file, np.uint8, "r", integers, (words, E5.dimension // 2))
        self._scales = np.memmap(file, np.uint8, "r", scales, (words, 2 * E5.dimension // block))

    def read(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """The rows of these words, in the shape of `ids` with one more axis of 384."""
        packed = np.asarray(self._integers[ids])
        numbers = np.stack([packed & 15, packed >> 4], axis=-1).reshape(*ids.shape, E5.dimension)
        scales = np.ascontiguousarray(self._scales[ids]).view("<f2").astype(np.float32)
        found: NDArray[np.float32] = (numbers.astype(np.int8) ^ 8) - np.float32(8)
        return found * np.repeat(scales, self._block, axis=-1)


class AnyLanguage(CrossEncoder):
    """As the one that reads English, and slower: a window has fewer tokens, but twice as many layers."""

    window = 112

    def __init__(self, embedder: E5, threads: int = 0, folder: Path = FOLDER) -> None:
        """`embedder`: whose vocabulary and words it reads. `threads` 0: as many as this process may use."""
        super().__init__(threads, folder)
        self._embedder = embedder

    def _load(self) -> Model:
        files = verified_files(self._folder, MODEL_ID)
        table, pieces = json.loads(files["words.json"]), self._embedder.vocabulary()
        if table.pop("of") != E5.id:
            raise ModelError("The reader of every language was made for another embedding model.")
        rows = Rows(E5.folder / "model.onnx", **table)
        loaded = load(files["model.onnx"], self._threads, "reader of every language")
        return Model(loaded, pieces.encode, PieceReader(pieces.text), MARKS, lambda ids: {"words": rows.read(ids)})
