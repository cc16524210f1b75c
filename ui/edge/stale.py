"""What Streamlit keeps of a widget goes when the widget has gone from the page.

It forgets such a widget's value, but not its description with the callback, which holds what the callback works on: of
each question that was asked, the whole run behind "Stop", for as long as the tab was open.
"""

from __future__ import annotations

from streamlit.runtime.state import session_state
from streamlit.runtime.state.session_state import WStates

_HOOK, _RULE = "remove_stale_widgets", "_is_stale_widget"


def forget_stale_widgets() -> None:
    """From now on, in every session of this process. Nothing changes where Streamlit has no such places any more."""
    if not hasattr(WStates, _HOOK) or not hasattr(session_state, _RULE):
        return
    values_alone, stale = getattr(WStates, _HOOK), getattr(session_state, _RULE)
    if hasattr(values_alone, "values_alone"):
        return

    def both(self: WStates, active: frozenset[str], fragments: list[str] | None) -> None:
        values_alone(self, active, fragments)
        self.widget_metadata = {
            id: known for id, known in self.widget_metadata.items() if not stale(known, active, fragments)
        }

    both.values_alone = values_alone  # type: ignore[attr-defined]
    setattr(WStates, _HOOK, both)
