"""What a browser tab remembers of the Monitor page."""

from __future__ import annotations

from dataclasses import dataclass, field

from ui.components.tab_state import tab_state


@dataclass(slots=True)
class MonitorState:
    """`mark`: whose runs are to be listed. `last`: the mark that each chart and table named last, by its key."""

    mark: str = ""
    last: dict[str, str] = field(default_factory=dict)


def state() -> MonitorState:
    """The tab's."""
    return tab_state(MonitorState)
