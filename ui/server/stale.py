"""What Streamlit keeps of a widget goes when the widget has gone from the page.

It forgets such a widget's value, but not its description with the callback, which holds what the callback works on: of
each question that was asked, the whole run behind "Stop", for as long as the tab was open.
"""

from __future__ import annotations

from streamlit.runtime.state import session_state
from streamlit.runtime.state.session_state import WStates

_HOOK, _RULE = "remove_stale_widgets", "_is_stale_widget"
_INTERNAL = "$$STREAMLIT_INTERNAL_KEY"


def _base(id: str) -> str:
    """The id of the component whose events are heard under this one; empty where it is no such. Streamlit counts what
    hears events never among what stands on the page: without it the browser's clicks would be told to nobody."""
    return id.removeprefix(f"{_INTERNAL}_").removesuffix("__events") if id.startswith(_INTERNAL) else ""


def forget_stale_widgets() -> None:
    """From now on, in every session of this process. Nothing changes where Streamlit has no such places any more."""
    if not hasattr(WStates, _HOOK) or not hasattr(session_state, _RULE):
        return
    values_alone, stale = getattr(WStates, _HOOK), getattr(session_state, _RULE)
    if hasattr(values_alone, "values_alone"):
        return

    def both(self: WStates, active: frozenset[str], fragments: list[str] | None) -> None:
        values_alone(self, active, fragments)
        every = self.widget_metadata
        kept = {id: known for id, known in every.items() if not stale(known, active, fragments)}
        self.widget_metadata = kept | {id: known for id, known in every.items() if _base(id) in kept}

    both.values_alone = values_alone  # type: ignore[attr-defined]
    setattr(WStates, _HOOK, both)
