"""Failures in words: what failed and what to do, never a stack trace."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import streamlit as st

from crag.core.errors import CragError, StorageError
from crag.core.makers import name_in_sentence
from crag.messages.wording import about
from ui.kit.safe import markdown


def show(error: CragError) -> None:
    """The message in bold, then what to do."""
    st.error(f"**{markdown(about(error.cause, error.who, name_in_sentence))}**  \n{markdown(error.remedy)}", icon=None)


def announce(error: CragError) -> None:
    """The same above the page until it is closed: what a callback draws takes the place of the page's first element."""
    st.toast(
        f"**{markdown(about(error.cause, error.who, name_in_sentence))}**  \n{markdown(error.remedy)}",
        duration="infinite",
    )


def of_system(error: OSError) -> CragError | None:
    """What the system ran out of, in our words; None for any other trouble, which is a defect."""
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return StorageError(
            "The program has too many files open.",
            "Wait until others are done, then try again; whoever runs the program can allow it more (ulimit -n).",
        )
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        return StorageError("The disk is full, or can't be written.", "Tell who runs this program, then try again.")
    return None


@contextmanager
def reported(*, stop: bool = False, by: Callable[[CragError], None] = show) -> Iterator[None]:
    """Work whose failure is shown on the page; the page then goes on below, or ends here with `stop`.

    `by` shows it: `announce` in a callback.
    """
    try:
        yield
    except (CragError, OSError) as error:
        known = of_system(error) if isinstance(error, OSError) else error
        if known is None:
            raise
        by(known)
        if stop:
            st.stop()
