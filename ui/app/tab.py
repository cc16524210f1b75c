"""What a browser tab remembers of its runs, and how its next question is asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic import SecretStr

from crag.core.filters.where import Scope
from crag.core.trace import Trace
from ui.components.tab_state import LibraryState, tab_state


@dataclass(slots=True)
class RunsState(LibraryState):
    """The conversations of a tab, and what it shows of them.

    `turns`: the runs of this conversation, oldest first; `conversations`: those of the others. `selected`: the run that
    is shown; `opened`: what stands beside it, "cite:2" or "chunk:…"; `leaf`: its page, where another was turned to.
    `asked`: the run asked last here; `typed`: the whole of what was typed for it. `traces`: the records of ended runs,
    with their weights in bytes; `so_far`: those of runs under way, with how many events each holds.
    """

    turns: list[str] = field(default_factory=list)
    conversations: list[list[str]] = field(default_factory=list)
    selected: str | None = None
    opened: str | None = None
    leaf: int | None = None
    asked: str | None = None
    typed: str = ""
    traces: dict[str, Trace] = field(default_factory=dict)
    weights: dict[str, int] = field(default_factory=dict)
    so_far: dict[str, tuple[int, Trace]] = field(default_factory=dict)

    def forget(self) -> None:
        self.turns, self.conversations = [], []
        self.selected = self.opened = self.leaf = self.asked = None
        self.typed, self.traces, self.weights, self.so_far = "", {}, {}, {}


@dataclass(slots=True)
class ChoicesState:
    """How questions are asked from here.

    `changes`: settings that differ from a strategy's own, by strategy. `choices`: fields of the configuration that
    differ; `chose_web`: whether one of them is a person's choice of the web. `follows`: whether questions follow on
    earlier ones. `scope`: what they are asked of. `sample_for`: the workspace that was looked through for the sample.
    `own_keys`: by slot and server. `noted`: keys that stand in the audit log, and for whom. `saving_problem`: why
    choices are not saved.
    """

    strategy: str = "balanced"
    changes: dict[str, dict[str, Any]] = field(default_factory=dict)
    choices: dict[str, Any] = field(default_factory=dict)
    chose_web: bool = False
    follows: bool = True
    scope: Scope = field(default_factory=Scope)
    sample_for: str = ""
    own_keys: dict[tuple[str, str], SecretStr] = field(default_factory=dict)
    noted: set[tuple[str, str]] = field(default_factory=set)
    saving_problem: str = ""


def runs() -> RunsState:
    """The tab's."""
    return tab_state(RunsState)


def choices() -> ChoicesState:
    """The tab's."""
    return tab_state(ChoicesState)
