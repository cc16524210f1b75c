"""GGUF files written by hand: headers that say what a test wants them to say."""

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

CHAT: Mapping[str, Any] = {
    "general.architecture": "llama",
    "llama.context_length": 2048,
    "llama.block_count": 4,
    "llama.embedding_length": 64,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
    "tokenizer.ggml.tokens": ["<s>", "a", "b"],
}
"""What a model that converses says of itself."""


def small_gguf(
    path: Path, values: Mapping[str, Any] = CHAT, tensors: Sequence[int] = (256,), data: bytes = b"\0" * 1024
) -> Path:
    """A file with these values, and as many tensors of 32-bit numbers; `data` is all that there is of them."""
    header = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values))
    header += b"".join(_text(name) + _value(value) for name, value in values.items())
    place = 0
    for number, count in enumerate(tensors):
        header += _text(f"tensor{number}") + struct.pack("<IQIQ", 1, count, 0, place)
        place += count * 4
    path.write_bytes(header + b"\0" * (-len(header) % 32) + data)
    return path


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _value(value: Any) -> bytes:
    if isinstance(value, str):
        return struct.pack("<I", 8) + _text(value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if value and isinstance(value[0], int):
        return struct.pack("<IIQ", 9, 4, len(value)) + struct.pack(f"<{len(value)}I", *value)
    return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_text, value))
