"""From how many heaps the threads of a server take their memory."""

from __future__ import annotations

import ctypes
import sys

__all__ = ["share_heaps"]

_ARENA_MAX = -8
"""M_ARENA_MAX of glibc's malloc.h."""
_HEAPS = 2


def share_heaps() -> None:
    """Has all threads to come share two heaps. Without glibc, nothing happens.

    glibc gives up to eight heaps a core to threads, against waiting that the interpreter's lock rules out anyhow. Each
    keeps room for the most it ever held: with ten people working, that was a quarter of the app's memory.
    """
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    if mallopt is not None:
        mallopt(_ARENA_MAX, _HEAPS)
