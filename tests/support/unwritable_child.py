"""Asks a filled library in a place that can't be written: run under `unshare`, in a namespace of mounts.

`folder` makes the data folder read-only, `file` its databases alone, `full` leaves no byte on the disk. Prints what
became of two questions, JSON on one line.
"""

import json
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from crag.core import events as ev
from crag.core.config import AppConfig
from crag.engine import Engine
from crag.testing.fakes import ScriptedEvaluator
from tests.support.small_library import WordEmbedder, fill

QUESTION = "How long did hiring take in 2019?"


def opened(data: Path) -> Engine:
    return Engine(
        AppConfig.of(data=data),
        embedder=WordEmbedder(),
        evaluator=ScriptedEvaluator(score=lambda text: 0.9),
    )


def asked(engine: Engine, question: str) -> dict[str, object]:
    """The kinds of a run's last event and of its answer, and what it says was done instead."""
    events = list(engine.ask(question))
    failed = [event for event in events if isinstance(event, ev.Failed)]
    return {
        "last": events[-1].kind,
        "answered": any(isinstance(event, ev.Answered) and not event.answer.abstained for event in events),
        "instead": [event.instead for event in failed],
        "messages": [event.cause for event in failed],
    }


def mount(*options: str) -> None:
    subprocess.run(["mount", *options], check=True)


def read_only(path: Path) -> None:
    mount("--bind", str(path), str(path))
    mount("-o", "remount,ro,bind", str(path))


def main(data: Path, manner: str) -> None:
    if manner == "full":
        data.mkdir()
        mount("-t", "tmpfs", "-o", "size=12m", "none", str(data))
    engine = opened(data)
    fill(engine)
    list(engine.ask("What did the survey say?"))
    engine.close()
    if manner == "folder":
        read_only(data)
    elif manner == "file":
        for file in data.rglob("*.db"):
            read_only(file)
    engine = opened(data)
    if manner == "full":
        engine.library()  # opening may give up what is kept back for deleting
        with suppress(OSError), (data / "ballast").open("wb", buffering=0) as ballast:
            while ballast.write(bytes(4096)):
                pass
        assert not shutil.disk_usage(data).free
    runs = [asked(engine, QUESTION), asked(engine, QUESTION)]
    history = [each.question for each in engine.library().runs.latest()]
    sys.stdout.write(json.dumps({"runs": runs, "history": history}) + "\n")
    engine.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
