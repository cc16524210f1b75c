"""Published data as it lies in the shared folder: JSON Lines, packed or not, and SQuAD's articles."""

from __future__ import annotations

import gzip
import json
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
