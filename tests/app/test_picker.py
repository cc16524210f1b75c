"""Clicks reach the script: in order, each once, also where a run of the script is interrupted."""

import pytest
from streamlit.runtime.scriptrunner import StopException
from streamlit.testing.v1 import AppTest

from tests.support.tab_states import state_in
from ui.components.click_bridge import Clicks


def page():
    import streamlit as st

    from ui.components import click_bridge

    def act(pick):
        if st.session_state.get("interrupt"):
            st.session_state.interrupt = False
            from streamlit.runtime.scriptrunner import StopException

            raise StopException
        if pick == "wrong":
            raise ValueError(pick)
        st.session_state.setdefault("done", []).append(pick)

    click_bridge.handle_clicks(act)


@pytest.fixture
def shown():
    return AppTest.from_function(page).run()


def clicks(app):
    return state_in(app, Clicks)


def test_clicks_are_done_in_order_and_those_told_again_once(shown):
    clicks(shown).take([[5, "a"], [6, "b"]])
    clicks(shown).take([[5, "a"], [6, "b"], [9, "c"]])
    shown.run().run()
    assert shown.session_state.done == ["a", "b", "c"] and clicks(shown).heard == 9


def test_a_click_in_an_interrupted_run_is_done_by_the_next(shown):
    clicks(shown).take([[1, "a"], [2, "b"]])
    shown.session_state.interrupt = True
    shown.run()
    assert "done" not in shown.session_state
    shown.run()
    assert shown.session_state.done == ["a", "b"]


def test_a_click_that_fails_is_done_with_and_the_next_goes_on(shown):
    clicks(shown).take([[1, "wrong"], [2, "b"]])
    shown.run()
    assert shown.exception
    shown.run()
    assert not shown.exception and shown.session_state.done == ["b"]


@pytest.mark.parametrize(
    "told", [None, "run:x", {"a": 1}, [["1", "a"]], [[1]], [[1, 2]], [None], [[2, "x" * 300]], [[0, "a"]], [[-1, "a"]]]
)
def test_what_is_no_click_is_not_taken_in(told):
    heard = Clicks()
    heard.take(told)
    assert heard == Clicks()


assert issubclass(StopException, BaseException) and not issubclass(StopException, Exception)
