"""What a browser tab remembers of the Tune page."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from crag.core.settings import Settings
from ui.components.tab_state import tab_state


@dataclass(slots=True)
class TuneState:
    """Where the sliders stand, and what was worked out for them.

    `strategy`, `own`: from which the sliders started. `start`, `now`: their values by setting, as their widgets began
    and as they are. `turn`: how often they were moved at once. `used`: whether Ask has just been given their settings.
    `made`: what was worked out, by name, with what it was made from.
    """

    strategy: str = ""
    own: Settings | None = None
    start: dict[str, Any] = field(default_factory=dict)
    now: dict[str, Any] = field(default_factory=dict)
    turn: int = 0
    used: bool = False
    made: dict[str, tuple[Hashable, Any]] = field(default_factory=dict)


def state() -> TuneState:
    """The tab's."""
    return tab_state(TuneState)
