"""Failures in words: what failed and what to do, never a stack trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import streamlit as st

from crag.core.errors import CragError
from crag.core.model_ids import about
from crag.export.html.safe_text import markdown
from crag.runtime.jobs import explain_os_error


def show(error: CragError) -> None:
    """The message in bold, then what to do."""
    st.error(f"**{markdown(about(error.cause, error.who))}**  \n{markdown(error.remedy)}", icon=None)


def announce(error: CragError) -> None:
    """The same above the page until it is closed: what a callback draws takes the place of the page's first element."""
    st.toast(
        f"**{markdown(about(error.cause, error.who))}**  \n{markdown(error.remedy)}",
        duration="infinite",
    )


@contextmanager
def reported(*, stop: bool = False, by: Callable[[CragError], None] = show) -> Iterator[None]:
    """Work whose failure is shown on the page; the page then goes on below, or ends here with `stop`.

    `by` shows it: `announce` in a callback.
    """
    try:
        yield
    except (CragError, OSError) as error:
        known = explain_os_error(error) if isinstance(error, OSError) else error
        if known is None:
            raise
        by(known)
        if stop:
            st.stop()
