"""What a browser tab remembers of the Documents page."""

from __future__ import annotations

from dataclasses import dataclass, field

from crag.pipeline.folders import FolderComparison
from ui.components.tab_state import LibraryState, tab_state


@dataclass(slots=True)
class DocumentsState(LibraryState):
    """`upload`: the job that is followed. `selected`, `rows`: ids of the documents selected, and of those listed,
    in the `table` of this key.

    `marked`: the only chunk marked on its page. `folder`: the one compared last. `turns`: how often each form
    was emptied, by its name. `selection`: what is selected on the map.
    """

    upload: str = ""
    selected: tuple[str, ...] = ()
    rows: tuple[str, ...] | None = None
    table: str = ""
    marked: str = ""
    folder: FolderComparison | None = None
    turns: dict[str, int] = field(default_factory=dict)
    selection: object = None

    def forget(self) -> None:
        self.upload, self.selected, self.rows, self.marked, self.folder = "", (), None, "", None
        self.selection = None


def state() -> DocumentsState:
    """The tab's."""
    return tab_state(DocumentsState)
