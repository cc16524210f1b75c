"""What a browser tab remembers of the Settings page."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from crag.core.errors import CragError
from crag.providers.discovery import Trial
from crag.providers.endpoint import Endpoint
from ui.components.tab_state import tab_state


@dataclass(slots=True)
class SettingsState:
    """What is to be shown once, and how often each form was started again.

    `turns`: by form. `problems`: what failed, by the form or field where it is shown next. `saved`: the forms that have
    just been saved. `later`: which settings of the program hold from its next start; None where none were saved.
    `listed`: the server that was asked for its models, with what it said; `list_asked`: it is to be asked again.
    `tried`: what came of the last test of each model, with its server.
    """

    turns: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    problems: dict[str, CragError] = field(default_factory=dict)
    saved: set[str] = field(default_factory=set)
    later: list[str] | None = None
    listed: tuple[Endpoint, list[str] | CragError] | None = None
    list_asked: bool = False
    tried: dict[str, tuple[Endpoint, Trial | CragError]] = field(default_factory=dict)

    def was_saved(self, form: str) -> bool:
        """Whether it has just been saved; asked again, it has not."""
        if form not in self.saved:
            return False
        self.saved.discard(form)
        return True


def state() -> SettingsState:
    """The tab's."""
    return tab_state(SettingsState)
