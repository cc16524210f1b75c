"""Records the run that the first page of the app plays: the sample's AMBIGUOUS question over the sample library.

    python -m samples.record

writes `recorded-run.jsonl`, an event a line, in place of the last. Run it when events or the default strategy change.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from crag import Engine
from crag.core.config import AppConfig
from crag.core.events import Event, events_to_jsonl
from crag.core.protocols import RunRequest
from crag.core.sample import RECORDING, load_sample
from crag.core.strategies import STRATEGIES
from crag.core.types import Action

CHUNKS = 4
"""As many are retrieved as the first page has room for."""


def record(engine: Engine) -> Sequence[Event]:
    """The events of the run, asked of the sample library and with the sample's pages as web. Raises CragError."""
    [question] = [each.question for each in load_sample().questions if each.expected is Action.AMBIGUOUS]
    settings = STRATEGIES["balanced"].settings.changed(k=CHUNKS)
    return list(engine.ask(RunRequest(question, settings=settings, via="app")))


def main() -> None:
    sample = load_sample()
    with TemporaryDirectory() as folder:
        engine = Engine(AppConfig.of(data=Path(folder), web="folder", web_folder=sample.web))
        for _ in engine.add(sample.pdf.name, sample.pdf.read_bytes()):
            pass
        list(engine.ask(RunRequest(sample.questions[0].question)))  # loads the models, which is no part of a run
        RECORDING.write_text(events_to_jsonl(record(engine)), encoding="utf-8")
        engine.close()


if __name__ == "__main__":
    main()
