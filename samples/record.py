"""Records the runs that the app plays: the sample's three questions, and the sample broken on purpose.

    python -m samples.record

writes a file of events for each to `stories/`, in place of the last. Run it when events or the default strategy change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from crag import Engine
from crag.analysis.tour import ORDER, QUESTIONS, STRATEGIES, Break
from crag.core.config import AppConfig
from crag.core.events import Event, events_to_jsonl
from crag.core.protocols import RunRequest, SearchQuery
from crag.core.sample import STORIES, load_sample
from crag.core.types import Chunk, RetrievedChunk
from crag.storage.library import Library

CHUNKS = 4
"""As many are retrieved as a picture has room for."""
_FIGURE = re.compile(r"(?<![\d.,])4(?:\.0)?\s*(?:percent|%)")


@dataclass(frozen=True, slots=True)
class _Broken:
    """What a search of the library brings in a situation."""

    library: Library
    kind: Break

    def search(self, query: str, k: int) -> list[RetrievedChunk]:
        found = self.library.find(SearchQuery(query, 3 * k))  # more than are wanted, in place of those removed
        if self.kind == "removed":
            found = [each for each in found if not _FIGURE.search(each.chunk.text)]
        if self.kind == "planted":
            found = [replace(each, chunk=_plant(each.chunk)) for each in found]
        return [replace(each, rank=rank) for rank, each in enumerate(found[:k], start=1)]


def _plant(chunk: Chunk) -> Chunk:
    """With the order as its last line, where it gives the figure."""
    return replace(chunk, text=f"{chunk.text}\n{ORDER}") if _FIGURE.search(chunk.text) else chunk


def record(engine: Engine) -> Iterator[tuple[str, list[Event]]]:
    """The events of each story by its name. `engine` has the sample and its pages as the web. Raises CragError."""
    asked = {each.expected.lower(): RunRequest(each.question) for each in load_sample().questions}
    for kind, question in QUESTIONS.items():
        broken = _Broken(engine.library(), kind)
        asked |= {f"{kind}-{name}": RunRequest(question, name, retriever=broken) for name in STRATEGIES}
    for name, request in asked.items():
        yield name, list(engine.ask(replace(request, settings={"k": CHUNKS}, via="app")))


def main() -> None:
    sample = load_sample()
    STORIES.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder:
        engine = Engine(AppConfig.of(data=Path(folder), web="folder", web_folder=sample.web))
        for _ in engine.add(sample.pdf.name, sample.pdf.read_bytes()):
            pass
        list(engine.ask(RunRequest(sample.questions[0].question)))  # loads the models, which is no part of a run
        for name, events in record(engine):
            (STORIES / f"{name}.jsonl").write_text(events_to_jsonl(events), encoding="utf-8")
        engine.close()


if __name__ == "__main__":
    main()
