"""How much work something is: processor time beside that of a fixed loop, which a busy machine stretches as much."""

import gc
import time
from collections.abc import Callable
from typing import ParamSpec

P = ParamSpec("P")

STEPS, LOOPS = 3_000_000, 8
"""Of a loop that is long enough to see what else goes on, and of such loops in a second of a quiet machine."""


def seconds(work: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> float:
    """The processor time of this thread, without that of a collector which goes through all that is loaded."""
    gc.disable()
    try:
        began = time.thread_time()
        work(*args, **kwargs)
        return time.thread_time() - began
    finally:
        gc.enable()


def takes_longer(than: float, work: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> bool:
    """Whether it takes more than so many seconds of a quiet machine, three times of three.

    What takes a tenth of them on this one is not compared.
    """
    tries = (seconds(work, *args, **kwargs) for _ in range(3))
    return all(taken > than / 10 and taken > than * LOOPS * seconds(_loop) for taken in tries)


def _loop() -> None:
    total = 0
    for step in range(STEPS):
        total += step
