"""Waiting for something that another process will do."""

import time
from collections.abc import Callable


def eventually(holds: Callable[[], object], seconds: float = 60.0) -> None:
    """Returns as soon as it holds; fails where it never does."""
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends, f"not within {seconds:g} seconds"
        time.sleep(0.1)
