"""What a browser tab remembers: its runs, how its next question is asked, and what stands round its pages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic import SecretStr

from crag.analysis.stages.miss import Miss
from crag.core.filters import Scope
from ui.components.tab_state import LibraryState, tab_state


@dataclass(slots=True)
class RunsState(LibraryState):
    """What a tab shows of runs and their conversations.

    `selected`: the run that is shown; `opened`: what stands beside it, "cite:2" or "chunk:…"; `leaf`: its page, where
    another was turned to. `past`: how many more conversations are listed; `managed`: the latest run of the one that is
    to be renamed or deleted; `deleted`: what can be brought back, in
    `ui.app.undo`.
    `scope`: what the next question is asked of. `asked`: the run asked last here. `more`: how many more turns are
    listed. `gone`: how many documents of the scope were deleted. `miss`: what became of the page or sentence that was
    missed last. `listed`: the upload whose results were seen. `waiting`: a question that waits for a document. `why`:
    the chunk whose score is to be explained. `lines`: a run beside which the rail's lines were moved, and to where.
    `reset`: how often the sliders there were set back.
    """

    selected: str | None = None
    opened: str | None = None
    leaf: int | None = None
    scope: Scope = field(default_factory=Scope)
    asked: str | None = None
    more: int = 0
    past: int = 0
    managed: str = ""
    deleted: list[str] = field(default_factory=list)
    gone: int = 0
    miss: Miss | None = None
    listed: str = ""
    waiting: str = ""
    why: str = ""
    lines: tuple[str, float, float] | None = None
    reset: int = 0

    def forget(self) -> None:
        self.past, self.managed, self.deleted = 0, "", []
        self.selected = self.opened = self.leaf = self.asked = self.lines = None
        self.scope, self.gone, self.miss, self.listed, self.waiting, self.why = Scope(), 0, None, "", "", ""


@dataclass(slots=True)
class ChoicesState:
    """How questions are asked from here.

    `changes`: settings that differ from a strategy's own, by strategy. `choices`: fields of the configuration that
    differ; `chose_web`: whether a web, or none, was chosen.
    `own_keys`: by slot and server. `noted`: keys that stand in the audit log, and for whom. `saving_problem`: why
    choices are not saved.
    """

    strategy: str = "balanced"
    changes: dict[str, dict[str, Any]] = field(default_factory=dict)
    choices: dict[str, Any] = field(default_factory=dict)
    chose_web: bool = False
    own_keys: dict[tuple[str, str], SecretStr] = field(default_factory=dict)
    noted: set[tuple[str, str]] = field(default_factory=set)
    saving_problem: str = ""


@dataclass(slots=True)
class PageState:
    """What stands round the pages of a tab.

    `wanted`: the page that a click led to. `shares`: how often something was shared, so that its form is empty then;
    `link`: the id and the token of the link made last.
    """

    wanted: str = ""
    shares: int = 0
    link: tuple[str, str] | None = None


def page() -> PageState:
    """The tab's."""
    return tab_state(PageState)


def runs() -> RunsState:
    """The tab's."""
    return tab_state(RunsState)


def choices() -> ChoicesState:
    """The tab's."""
    return tab_state(ChoicesState)
