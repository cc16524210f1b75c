"""Published data as it lies in the shared folder: JSON Lines, packed or not, and SQuAD's articles."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON Lines; one whose name ends in .gz is unpacked. Empty lines are passed over."""
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in raw.decode().split("\n") if line.strip()]


def read_articles(data: Path, name: str) -> list[dict[str, Any]]:
    """The articles of a file of SQuAD, such as "v1_train"."""
    found: list[dict[str, Any]] = json.loads((data / "squad" / f"{name}.json").read_text(encoding="utf-8"))["data"]
    return found


def longer_texts(file: Path) -> Iterator[str]:
    """The longer texts of a training file, each once, without its questions."""
    seen: set[str] = set()
    for row in read_rows(file):
        for text in _texts({key: value for key, value in row.items() if key != "question"}):
            if text not in seen:
                seen.add(text)
                yield text


def _texts(value: Any) -> Iterator[str]:
    """The longer texts anywhere in a row."""
    if isinstance(value, str):
        if len(value) > 60:
            yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def cut(texts: Iterable[str], most: int) -> list[str]:
    """The first of the texts, about `most` characters together."""
    found: list[str] = []
    for text in texts:
        if most <= 0:
            break
        found.append(text)
        most -= len(text)
    return found
