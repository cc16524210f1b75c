"""Failures in words: what failed and what to do, never a stack trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from crag.core.errors import CragError
from crag.core.makers import named
from crag.core.wording import about
from ui.kit.safe import markdown


def show(error: CragError) -> None:
    """The message in bold, then what to do."""
    st.error(f"**{markdown(about(error.cause, error.who, named))}**  \n{markdown(error.remedy)}", icon=None)


@contextmanager
def reported(*, stop: bool = False) -> Iterator[None]:
    """Work whose failure is shown on the page; the page then goes on below, or ends here with `stop`."""
    try:
        yield
    except CragError as error:
        show(error)
        if stop:
            st.stop()
