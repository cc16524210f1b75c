"""Pairs drawn beforehand, in one small file: a machine that is lent reads them without the data and its readers.

A file holds its strings once, as lines of JSON, and the pairs of each epoch as columns of numbers; LZMA finds the many
texts that are parts of one another. What is held out is never in it.
"""

from __future__ import annotations

import io
import json
import lzma
import math
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpora.pair import Pair, Spot, held_out

UNKNOWN = -1
"""Stands for the number of sentences to keep where they are not known."""
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 1 << 27}]
"""A window of 128 MB: texts of one document are found again wherever they stand."""
_STRINGS, _COLUMNS = "strings.jsonl.xz", "pairs.npz.xz"


def pack_pairs(epochs: Iterable[Sequence[Pair]], path: Path) -> dict[str, int]:
    """Write epochs of pairs without those held out; returns how many pairs, strings and bytes the file has."""
    numbers: dict[str, int] = {}
    rows: list[tuple[int, ...]] = []
    values: list[tuple[float, float, float]] = []
    counts: list[tuple[int, int]] = []
    spots: list[Spot] = []
    ends = []
    for pairs in epochs:
        for pair in pairs:
            if held_out(pair.group):
                continue
            strings = pair.question, pair.title, pair.text, pair.group, pair.source
            rows.append(tuple(numbers.setdefault(each, len(numbers)) for each in strings))
            values.append((pair.label, pair.weight, math.nan if pair.closeness is None else pair.closeness))
            counts.append((len(pair.spots), UNKNOWN if pair.keeps is None else len(pair.keeps)))
            spots += [*pair.spots, *(pair.keeps or ())]
        ends.append(len(rows))
    columns = {
        "strings": np.array(rows, np.uint32).reshape(-1, 5).T.copy(),
        "values": np.array(values, np.float32).reshape(-1, 3).T.copy(),
        "counts": np.array(counts, np.int16).reshape(-1, 2).T.copy(),
        "spots": np.array(spots, np.uint32).reshape(-1, 2).T.copy(),
        "ends": np.array(ends, np.uint32),
    }
    made = io.BytesIO()
    np.savez(made, **columns)  # type: ignore[arg-type]
    lines = "".join(json.dumps(each, ensure_ascii=True) + "\n" for each in numbers).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as file:
        for name, content in ((_STRINGS, lines), (_COLUMNS, made.getvalue())):
            file.writestr(zipfile.ZipInfo(name), lzma.compress(content, filters=_FILTERS))
    part.replace(path)
    return {"pairs": len(rows), "epochs": len(ends), "strings": len(numbers), "bytes": path.stat().st_size}


class Packed:
    """A file of pairs as epochs; it is read when it is first used. After its last epoch comes the first again.

    `first`: the seed of the first epoch.
    """

    def __init__(self, path: Path, first: int = 0) -> None:
        self.path, self.first = path, first

    def __getstate__(self) -> dict[str, object]:
        return {"path": self.path, "first": self.first}

    def epoch(self, seed: int) -> list[Pair]:
        ends = self._columns["ends"].tolist()
        first, last = list(pairwise([0, *ends]))[(seed - self.first) % len(ends)]
        return list(self._pairs(first, last))

    def _pairs(self, first: int, last: int) -> Iterator[Pair]:
        strings, columns = self._strings, self._columns
        rows = zip(
            columns["strings"][:, first:last].T.tolist(),
            columns["values"][:, first:last].T.tolist(),
            columns["counts"][:, first:last].T.tolist(),
            pairwise(self._places[first : last + 1]),
            strict=True,
        )
        spots = columns["spots"].T
        for (question, title, text, group, source), (label, weight, close), (placed, kept), (begin, end) in rows:
            found: list[Spot] = [(one, other) for one, other in spots[begin:end].tolist()]
            yield Pair(
                strings[question],
                strings[text],
                label,
                strings[group],
                strings[source],
                strings[title],
                tuple(found[:placed]),
                weight,
                None if math.isnan(close) else close,
                None if kept == UNKNOWN else tuple(found[placed:]),
            )

    @cached_property
    def _strings(self) -> list[str]:
        return [json.loads(line) for line in self._read(_STRINGS).splitlines()]

    @cached_property
    def _columns(self) -> dict[str, NDArray[Any]]:
        with np.load(io.BytesIO(self._read(_COLUMNS)), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}

    @cached_property
    def _places(self) -> list[int]:
        """Where the spots of each pair begin, and where the last ones end."""
        counts = self._columns["counts"]
        return [0, *accumulate((counts[0] + counts[1].clip(min=0)).tolist())]

    def _read(self, name: str) -> bytes:
        """Raises ValueError where the file is damaged."""
        try:
            with zipfile.ZipFile(self.path) as file:
                return lzma.decompress(file.read(name))
        except (OSError, EOFError, KeyError, zipfile.BadZipFile, lzma.LZMAError) as error:
            raise ValueError(
                f"{self.path} can't be read ({error}): make it with `python -m training.lent pack`."
            ) from error
