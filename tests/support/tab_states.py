"""What a tab of an `AppTest` remembers of a feature."""

from typing import TypeVar

from streamlit.testing.v1 import AppTest

T = TypeVar("T")


def state_in(tab: AppTest, kind: type[T]) -> T:
    """The tab's object of this kind, as `ui.components.tab_state` keeps it; made where there is none yet."""
    name = f"{kind.__module__}.{kind.__name__}"
    if name not in tab.session_state:
        tab.session_state[name] = kind()
    found: T = tab.session_state[name]
    return found
