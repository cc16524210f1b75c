"""What a browser tab remembers of the Documents page."""

from __future__ import annotations

from dataclasses import dataclass, field

from crag.pipeline.folders import FolderComparison
from ui.components.tab_state import LibraryState, tab_state

TUNE_RUNS, PICKED = "tune-runs", "picked"
"""The key of Tune's choice of runs, and its value for those of the questions picked on the map."""
MONITOR_PICKED, EVALUATE_SCOPED = "mon-picked", "eval-scoped"
"""The keys of the boxes with which Monitor shows the runs picked, and Evaluate asks only what Ask is limited to."""


@dataclass(slots=True)
class DocumentsState(LibraryState):
    """`upload`: the job that is followed. `selected`, `rows`: ids of the documents selected, and of those listed.

    `marked`: the only chunk marked on its page. `folder`: the one compared last. `turns`: how often each form
    was emptied, by its name. `selection`: what is selected on the map; `map_job`: the job that brings it up to date,
    `map_of`: what it was started for. `picked`: the runs of the questions that Tune and Monitor take from the map.
    """

    upload: str = ""
    selected: tuple[str, ...] = ()
    rows: tuple[str, ...] | None = None
    marked: str = ""
    folder: FolderComparison | None = None
    turns: dict[str, int] = field(default_factory=dict)
    selection: object = None
    map_job: str = ""
    map_of: object = None
    picked: frozenset[str] = frozenset()

    def forget(self) -> None:
        self.upload, self.selected, self.rows, self.marked, self.folder = "", (), None, "", None
        self.selection, self.map_job, self.map_of, self.picked = None, "", None, frozenset()


def state() -> DocumentsState:
    """The tab's."""
    return tab_state(DocumentsState)
