"""The sample library, read and embedded once for all workers of a run."""

from __future__ import annotations

import fcntl
from pathlib import Path

from crag.core.config import AppConfig
from crag.core.ingesting import DocumentAdded
from tests.support import local_models


def made_once(folder: Path) -> Path:
    """The data folder below `folder`, filled by the first process that comes; the others wait for it."""
    data, done = folder / "sample", folder / "sample.done"
    with (folder / "sample.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            engine = local_models.engine(AppConfig.of(data=data))
            sample = engine.sample()
            *_, added = engine.add(sample.pdf.name, sample.pdf.read_bytes())
            assert isinstance(added, DocumentAdded)
            engine.close()
            done.touch()
    return data
