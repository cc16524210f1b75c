"""What a GGUF file says of itself before it is loaded: whether it is one, is whole, and what memory it will need."""

from __future__ import annotations

import math
import mmap
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

CONTEXT = 6144
"""Tokens, of prompt and reply together, that one conversation has: what is shown of the sources, the rest, a reply."""
SLOTS = 2
"""Conversations that are answered at the same time; more wait."""
BATCH = 512
"""Tokens that are read at once."""

_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""The kinds of values, as struct writes them. 8 is a text, 9 a list."""
_TEXT, _LIST = 8, 9
_BLOCKS = {
    **{0: (1, 4), 1: (1, 2), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8), 30: (1, 2)},
    **{2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 20: (32, 18), 39: (32, 17)},
    **{10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292)},
    **{16: (256, 66), 17: (256, 74), 18: (256, 98), 19: (256, 50), 21: (256, 110), 22: (256, 82)},
    **{23: (256, 136), 29: (256, 56), 34: (256, 54), 35: (256, 66)},
}
"""Of each kind of tensor, how many numbers a block holds and in how many bytes. One not among them is not measured."""
_MOST_ENTRIES, _MOST_ITEMS, _MOST_NUMBERS, _MOST_TEXT = 100_000, 4_000_000, 4096, 1_000_000
"""Of a header's entries, a list's items, a list's numbers that are kept, and the bytes of one text."""
_MUTE = ("bert", "clip", "t5encoder", "gritlm")
"""Parts of the names of architectures that hold no conversation."""
_PROGRAM = 250_000_000
"""Bytes that the program takes that runs any model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Why a file can't be run. Of one that is cut off: the bytes it has and those it should have."""

    reason: Literal["no-file", "no-gguf", "cut-off", "no-chat"]
    held: int = 0
    whole: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """A model file that is whole. `mark` differs where the content does, as far as header and size tell.

    `context`: the tokens that one conversation has here. `token_bytes`: memory for each of them.
    """

    path: Path
    size: int
    mark: str
    architecture: str
    context: int
    token_bytes: int
    vocabulary: int

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def memory(self) -> int:
        """Bytes that running it takes, at most: the file, what conversations are remembered in, and the reading."""
        return self.size + self.token_bytes * self.context * SLOTS + self.vocabulary * BATCH * 4 + _PROGRAM


def inspect_model(path: Path) -> ModelFile | Fault:
    """The model in this file, or why there is none. Only its header is read, and that again only where it changed."""
    try:
        found = path.stat()
        return _read(path, found.st_size, found.st_mtime_ns) if path.is_file() else Fault(reason="no-file")
    except OSError:
        return Fault(reason="no-file")


def model_files(folder: Path) -> list[Path]:
    """The GGUF files of a folder, by name; none where there is no such folder."""
    return sorted(each for each in folder.glob("*.gguf") if each.is_file()) if folder.is_dir() else []


def free_memory() -> int | None:
    """Bytes that could be used now without anything being put on the disk; None where this system does not tell."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return None
    left = [limit - used for limit, used in map(_container_memory, (_GROUP, _OLDER_GROUP)) if limit is not None]
    return max(0, min([free, *left]))


_GROUP = ("memory.max", "memory.current", "memory.stat")
_OLDER_GROUP = ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "memory/memory.stat")


def _container_memory(names: tuple[str, str, str]) -> tuple[int | None, int]:
    """What a container may take, and what it has taken that can't be given back."""
    limit, used, parts = (Path("/sys/fs/cgroup") / name for name in names)
    try:
        statistics = dict(line.split() for line in parts.read_text().splitlines())
        files = int(statistics.get("total_inactive_file", statistics.get("inactive_file", 0)))
        return int(limit.read_text()), int(used.read_text()) - files
    except (OSError, ValueError):  # there is none, or no limit: "max"
        return None, 0


@lru_cache(maxsize=64)
def _read(path: Path, size: int, changed: int) -> ModelFile | Fault:
    if size < 24:
        return Fault(reason="no-gguf")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        header = _Header(data, size)
        try:
            values, end = header.read()
        except _CutOffError:
            return Fault(reason="cut-off", held=size)
        except ValueError:  # what it says of itself can't be, or is no text
            return Fault(reason="no-gguf")
        mark = f"{zlib.crc32(data[:4096] + data[-4096:] + struct.pack('<Q', size)):08x}"
    if end > size:
        return Fault(reason="cut-off", held=size, whole=end)
    return _model(path, size, mark, values)


def _model(path: Path, size: int, mark: str, values: Mapping[str, Any]) -> ModelFile | Fault:
    kind = values.get("general.architecture")
    if not isinstance(kind, str):
        return Fault(reason="no-gguf")
    blocks, width = _whole(values.get(f"{kind}.block_count")), _whole(values.get(f"{kind}.embedding_length"))
    if not blocks or not width or any(part in kind for part in _MUTE):
        return Fault(reason="no-chat")
    heads = _most(values.get(f"{kind}.attention.head_count")) or 1
    shared = values.get(f"{kind}.attention.head_count_kv")
    kept = sum(map(_whole, shared)) if isinstance(shared, list) else (_whole(shared) or heads) * blocks
    key = _whole(values.get(f"{kind}.attention.key_length")) or width // heads
    value = _whole(values.get(f"{kind}.attention.value_length")) or width // heads
    return ModelFile(
        path=path,
        size=size,
        mark=mark,
        architecture=kind,
        context=min(CONTEXT, _whole(values.get(f"{kind}.context_length")) or CONTEXT),
        token_bytes=kept * (key + value) * 2,
        vocabulary=_whole(values.get("tokenizer.ggml.tokens")) or _whole(values.get(f"{kind}.vocab_size")),
    )


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _most(value: Any) -> int:
    return max(map(_whole, value), default=0) if isinstance(value, list) else _whole(value)


class _CutOffError(Exception):
    """The file ends within its header."""


class _Header:
    """Reads a header front to back. `place` is where it stands."""

    def __init__(self, data: mmap.mmap, size: int) -> None:
        self._data, self._size, self.place = data, size, 0

    def read(self) -> tuple[dict[str, Any], int]:
        """Its values (of a list of texts, how many) and where the last tensor ends. ValueError: it is no header."""
        if self._data[:4] != b"GGUF" or struct.unpack_from("<I", self._data, 4)[0] not in (2, 3):
            raise ValueError
        tensors, entries = struct.unpack_from("<QQ", self._data, 8)
        if tensors > _MOST_ENTRIES or entries > _MOST_ENTRIES:
            raise ValueError
        self.place = 24
        values = {self._text(): self._value(self._number("I")) for _ in range(entries)}
        ends = [self._tensor() for _ in range(tensors)]
        step = _whole(values.get("general.alignment")) or 32
        return values, -(-self.place // step) * step + max(ends, default=0)

    def _tensor(self) -> int:
        """Where one ends, counted from where tensors begin."""
        self._text()
        dimensions = self._number("I")
        if dimensions > 8:
            raise ValueError
        numbers: int = math.prod(self._number("Q") for _ in range(dimensions))
        many, bytes_ = _BLOCKS.get(self._number("I"), (1, 0))
        begins: int = self._number("Q")
        return begins + numbers // many * bytes_

    def _value(self, kind: int) -> Any:
        if kind == _TEXT:
            return self._text()
        if kind != _LIST:
            return self._number(_NUMBERS.get(kind, ""))
        kind, count = self._number("I"), self._number("Q")
        if count > _MOST_ITEMS:
            raise ValueError
        if kind == _TEXT:
            for _ in range(count):
                self._passed(self._number("Q"))
            return count
        code = _NUMBERS.get(kind, "")
        if not code:
            raise ValueError
        start = self._passed(struct.calcsize(f"<{code}") * count)
        return list(struct.unpack_from(f"<{count}{code}", self._data, start)) if count <= _MOST_NUMBERS else count

    def _text(self) -> str:
        length = self._number("Q")
        if length > _MOST_TEXT:
            raise ValueError
        start = self._passed(length)
        return self._data[start : start + length].decode("utf-8", "replace")

    def _number(self, code: str) -> Any:
        if not code:
            raise ValueError
        found: Any = struct.unpack_from(f"<{code}", self._data, self._passed(struct.calcsize(f"<{code}")))[0]
        return found

    def _passed(self, length: int) -> int:
        """Where it stood; then it stands that many bytes further on."""
        start, self.place = self.place, self.place + length
        if self.place > self._size:
            raise _CutOffError
        return start
