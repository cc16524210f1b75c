"""Asks a library on a disk that can be read alone: run under `unshare`, in a namespace of mounts. Prints JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from crag.core.config import AppConfig
from crag.core.trace import Trace
from tests.support import local_models
from tests.support.library_makers import HashEmbedder

TEXT = b"The bridge over the river was opened in 1890 by the mayor. It is four hundred metres long.\n"


def main(folder: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "none", str(folder)], check=True)
    config = AppConfig(data=folder / "data")
    with closing(local_models.engine(config, embedder=HashEmbedder())) as engine:
        list(engine.add("bridge.txt", TEXT))
        engine.trace("When was the bridge opened?")
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
    with closing(local_models.engine(config, embedder=HashEmbedder())) as engine:
        trace = Trace.from_events(engine.ask("How long is the bridge?"))
        found = {
            "answer": trace.answer.text if trace.answer else "",
            "fatal": trace.failure is not None,
            "instead": [each.instead for each in trace.failures],
            "documents": [each.name for each in engine.library().documents.all()],
            "runs": [each.question for each in engine.library().runs.latest()],
        }
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
