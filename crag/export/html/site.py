"""Chosen runs as a static site: an index, and a page a run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from crag.core.trace import Trace
from crag.engine import Engine
from crag.export.html import answer, marks, page_pictures, words
from crag.export.html import elements as h
from crag.export.html.elements import Html
from crag.export.html.pages import document, file_name, page
from crag.export.html.safe_text import excerpt
from crag.generation.citations import MARK
from crag.providers.prices import usable

# ---- a site of several runs ------------------------------------------------------------------------------------------

INDEX = "index.html"
_MARKS = re.compile(rf"\s?{MARK.pattern}")
_WORDS = 200
"""Characters of an answer that the index shows."""


def write_site(engine: Engine, workspace: str | Path, ids: Sequence[str], folder: Path) -> Iterator[tuple[str, Path]]:
    """Write the pages of these runs and their index into a folder; each run's id with its file.

    Files of the same names are replaced, others stay. Every run is read before anything is written. Raises
    NotFoundError, StorageError, OSError where the folder can't be written.
    """
    library = engine.library(workspace)
    traces = [library.runs.trace(id) for id in ids]
    prices = usable(engine.config.providers.prices)
    image = partial(page_pictures.draw_page, engine.config)
    files = [f"{place}-{file_name(trace, 'html')}" for place, trace in enumerate(traces, 1)]
    folder.mkdir(parents=True, exist_ok=True)
    for trace, file in zip(traces, files, strict=True):
        stale = marks.find_stale(engine, workspace, trace)
        events, shown = library.runs.events(trace.run_id), page_pictures.pictures(library, trace, image)
        _write(folder / file, page(trace, events, prices, stale, shown, home=f"./{INDEX}"))
        yield trace.run_id, folder / file
    _write(folder / INDEX, index(traces, files))


def _write(file: Path, page: Html) -> None:
    file.write_text(page, encoding="utf-8", errors="replace")


def index(traces: Sequence[Trace], files: Sequence[str]) -> Html:
    """The page that lists the runs, each with its action and the first words of its answer."""
    rows = [_row(trace, file) for trace, file in zip(traces, files, strict=True)]
    head = h.header("cx contents")[h.h1["Recorded runs"], h.p("small")["Each page replays its run."]]
    return document("Recorded runs", h.fragment(head, h.div("cx index")[rows]), "several", f", {len(rows)} runs")


def _row(trace: Trace, file: str) -> Html:
    said = _MARKS.sub("", trace.answer.text) if trace.answer else ""
    about = [trace.strategy, words.moment(trace.started_at)]
    return h.div("entry")[
        h.h2[h.a(href=f"./{file}")[trace.question]],
        h.p[answer.state_chip(trace.outcome), " ", h.span("small")[" · ".join(about)]],
        h.p[excerpt(said, _WORDS) if said else h.span("quiet")["No answer"]],
    ]
