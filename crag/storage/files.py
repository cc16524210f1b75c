"""Folders that only their owner reads, and files that can be written."""

from __future__ import annotations

import os
from pathlib import Path


def own_folder(folder: Path) -> None:
    """Create a folder and what is missing above it, each for its owner alone."""
    if not folder.exists():
        own_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def writable(path: Path) -> bool:
    """Whether a file and its folder can be written: SQLite needs both."""
    return os.access(path.parent, os.W_OK | os.X_OK) and os.access(path, os.W_OK)
