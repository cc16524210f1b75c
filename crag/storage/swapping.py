"""Puts what was restored in the place of what is in a data folder, in one step as far as anybody can tell.

What is to come lies whole in `restoring`, and what goes is kept aside in `before-…`. A note of what goes where is
written first; from then on the new state is the one that counts: each move is done once, whoever goes on with them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from crag.core.errors import NotFoundError
from crag.index.manifest import sync
from crag.storage.sqlite_errors import translate_errors

__all__ = ["RESTORING", "finish", "put_back", "swap"]

RESTORING = "restoring"
"""Where a restore makes what is to come. Nothing in it counts before its note is there."""
_NOTE = "moves.json"
_ASIDE = re.compile(r"before-\d{8}T\d{12}")


def swap(data: Path, arriving: Mapping[str, bool]) -> Path | None:
    """Have what lies in `restoring` take its place; where that is kept aside which was there, if anything was.

    `arriving`: the names that change, of files and folders below the data folder, and whether there is a new one.
    Raises StorageError; nothing has changed then, or the next program that uses the folder goes on with it.
    """
    with translate_errors(data / RESTORING):
        _lasting(data / RESTORING)
        _decide(data / RESTORING, arriving)
        sync(data)
    return finish(data)


def finish(data: Path) -> Path | None:
    """Do what is left of the moves that were decided on; None where nothing was, or nothing was there before."""
    coming = data / RESTORING
    if not (coming / _NOTE).is_file():
        return None
    with translate_errors(coming):
        said = json.loads((coming / _NOTE).read_text(encoding="utf-8"))
        aside = data / said["aside"]
        for name, arrives in said["arriving"].items():
            old, new, kept = data / name, coming / name, aside / name
            # A new one that is gone from where it was made is in its place already.
            waits = new.exists() if arrives else not kept.exists()
            if waits and old.exists():
                kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                old.rename(kept)
                sync(kept.parent)
            if arrives and waits:
                old.parent.mkdir(mode=0o700, exist_ok=True)
                new.rename(old)
                sync(old.parent)
        if aside.is_dir():
            _write(aside / "arriving.json", {name: True for name in said["arriving"]})
        sync(data)
        shutil.rmtree(coming)
        return aside if aside.is_dir() else None


def put_back(data: Path) -> Path | None:
    """Undo the latest swap: what it put aside takes its place again, and what is there now is kept aside.

    Raises NotFoundError where nothing is aside, and StorageError.
    """
    with translate_errors(data / RESTORING):
        found = sorted(each for each in data.iterdir() if _ASIDE.fullmatch(each.name)) if data.is_dir() else []
        if not found:
            raise NotFoundError("No restore has put anything aside here.", "There is nothing to undo.")
        latest = found[-1]
        names = json.loads((latest / "arriving.json").read_text(encoding="utf-8"))
        shutil.rmtree(data / RESTORING, ignore_errors=True)
        _decide(latest, {name: (latest / name).exists() for name in names})
        latest.rename(data / RESTORING)
        sync(data)
    return finish(data)


def _decide(folder: Path, arriving: Mapping[str, bool]) -> None:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    _write(folder / _NOTE, {"aside": f"before-{stamp}", "arriving": dict(arriving)})


def _write(file: Path, value: object) -> None:
    draft = file.with_suffix(".draft")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as opened:
        json.dump(value, opened)
        opened.flush()
        os.fsync(opened.fileno())
    draft.replace(file)
    sync(file.parent)


def _lasting(folder: Path) -> None:
    """Make every file in it last on the disk."""
    for each in [*folder.rglob("*"), folder]:
        handle = os.open(each, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
