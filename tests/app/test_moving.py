"""A part of a page that runs alone: what fails in it is told there in words, and ends the run."""

from streamlit.testing.v1 import AppTest


def script() -> None:
    from types import SimpleNamespace

    import streamlit as st

    from crag.core.errors import AccessError
    from ui.app import fragments

    class Here:
        @property
        def entered(self):
            if st.session_state.get("shut"):
                raise AccessError("You may no longer enter.", "Reload the page.")
            return SimpleNamespace()

    @fragments.alone
    def part(here, said):
        st.caption(said)

    part(Here(), "what it was given")
    st.caption("what follows")


def test_who_may_no_longer_be_here_is_told_and_sees_nothing_more() -> None:
    page = AppTest.from_function(script).run()
    assert [each.value for each in page.caption] == ["what it was given", "what follows"]
    page.session_state["shut"] = True
    page.run()
    assert not page.exception and "You may no longer enter" in page.error[0].value
    assert not page.caption
