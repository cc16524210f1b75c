"""What a browser tab remembers of the Evaluate page."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ui.components.tab_state import tab_state


@dataclass(frozen=True, slots=True)
class Taken:
    """A file that was read: the id of its set, the file's name, and the set's name if it was stored before."""

    id: str
    name: str
    before: str


@dataclass(slots=True)
class EvaluateState:
    """`job`: the id of the evaluation that is shown. `deleting`: that of the one whose deletion is to be confirmed.

    `wanted`: the file to be read in this run of the page, None for the sample; empty where there is none. `refused`:
    whether the last file was. `turn`: how often a file was dropped. `followed`: ids of large evaluations whose
    losses were asked for.
    """

    job: str = ""
    deleting: str = ""
    wanted: tuple[Path | None, ...] = ()
    refused: bool = False
    taken: Taken | None = None
    turn: int = 0
    followed: set[str] = field(default_factory=set)


def state() -> EvaluateState:
    """The tab's."""
    return tab_state(EvaluateState)
