"""Of a widget that has gone from the page nothing is kept; one that stands there is heard as ever."""

from __future__ import annotations

import gc
import weakref
from typing import Any, ClassVar

import pytest
from streamlit.runtime.state import session_state
from streamlit.runtime.state.session_state import WStates
from streamlit.testing.v1 import AppTest

from ui.server import stale


class Work:
    """What a button works on."""

    made: ClassVar[list[weakref.ref[Work]]] = []

    def __init__(self) -> None:
        Work.made.append(weakref.ref(self))

    def stop(self) -> None:
        """What the button does."""


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit as it comes, whatever was served in this process before."""
    found = getattr(WStates, stale._HOOK)
    monkeypatch.setattr(WStates, stale._HOOK, getattr(found, "values_alone", found))


@pytest.fixture
def hooked(bare: None) -> None:
    stale.forget_stale_widgets()
    stale.forget_stale_widgets()  # once is enough, twice does no harm


def script() -> None:
    import streamlit as st

    from tests.server.test_stale import Work

    number = st.session_state.get("number", 0)
    st.session_state["number"] = number + 1
    st.button("Stop", key=f"stop-{number}", on_click=Work().stop)
    st.slider("Lower", 0, 10, 5, key="lower")
    st.text_input("Kept", key="kept", persist_state="session") if number % 2 == 0 else None

    def heard() -> None:
        st.session_state["heard"] = st.session_state.get("heard", 0) + 1

    @st.fragment
    def part() -> None:
        inner = st.session_state.get("inner", 0)
        st.session_state["inner"] = inner + 1
        st.button("Inner", key=f"inner-{inner}", on_click=heard)

    part()
    if number < 4:
        told = st.components.v2.component("teller", js="export default function () {}")
        told(key="teller", on_pick_change=heard)
    st.button("Count", key="count", on_click=heard)


def known(app: AppTest) -> Any:
    return app.session_state._state._state._new_widget_state.widget_metadata


def test_streamlit_still_has_the_places_that_are_used() -> None:
    assert callable(getattr(session_state, stale._RULE)) and callable(getattr(WStates, stale._HOOK)), (
        "Streamlit has renamed them: find where it removes the values of stale widgets now"
    )


@pytest.mark.usefixtures("hooked")
def test_what_a_callback_works_on_is_let_go_with_its_button() -> None:
    Work.made.clear()
    app = AppTest.from_function(script).run()
    first = len(known(app))
    for _ in range(20):
        app.run()
    assert len(known(app)) <= first
    gc.collect()
    assert sum(made() is not None for made in Work.made) <= 2, "one may still be held by the run that has just ended"


@pytest.mark.usefixtures("hooked")
def test_what_stands_on_the_page_is_heard_and_keeps_its_value() -> None:
    app = AppTest.from_function(script).run()
    app.slider(key="lower").set_value(8).run()
    app.run()
    app.text_input(key="kept").set_value("word").run()
    for _ in range(3):
        app.button(key="count").click().run()
    assert app.session_state["heard"] == 3 and app.slider(key="lower").value == 8
    inner = next(each for each in app.button if each.label == "Inner")
    inner.click().run()
    assert app.session_state["heard"] == 4
    assert not app.text_input
    app.run()
    assert app.text_input(key="kept").value == "word"


@pytest.mark.usefixtures("hooked")
def test_the_events_of_a_component_are_heard_as_long_as_it_stands_on_the_page() -> None:
    app = AppTest.from_function(script)
    for _ in range(4):
        app.run()
        (events,) = [known(app)[id] for id in known(app) if id.endswith("-teller__events")]
        assert list(events.callbacks) == ["pick"]
    app.run()
    assert not any("teller" in id for id in known(app))


@pytest.mark.usefixtures("bare")
def test_without_it_streamlit_keeps_each_of_them() -> None:
    """Once this fails, Streamlit does it by itself, and `ui/server/stale.py` can go."""
    app = AppTest.from_function(script).run()
    first = len(known(app))
    for _ in range(5):
        app.run()
    assert len(known(app)) > first
