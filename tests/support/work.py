"""How much work something is: processor time beside that of a fixed loop, which a busy machine stretches as much."""

import gc
import time
from collections.abc import Callable
from typing import ParamSpec

P = ParamSpec("P")

STEPS = 100_000
LOOPS = 150
"""Of so many steps each, in a second of a quiet machine."""


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
    """Whether it takes more than so many seconds of a quiet machine, three times of three."""
    return all(seconds(work, *args, **kwargs) > than * LOOPS * seconds(_loop) for _ in range(3))


def _loop() -> None:
    total = 0
    for step in range(STEPS):
        total += step
