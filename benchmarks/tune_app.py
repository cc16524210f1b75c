"""The app as `benchmarks.tune` drives it: what a move of a slider takes on the server is written to a file.

Run with `streamlit run`.
"""

import json
import os
import runpy
import time
from pathlib import Path
from typing import Any

from ui.tune import page

LOG = Path(os.environ["CRAG_BENCH_LOG"])
ROOT = Path(__file__).resolve().parents[1]


def timed(work: Any) -> Any:
    """The page's own work with its time by the clock and of the processor written down."""

    def measured(*args: Any) -> None:
        clock, processor = time.perf_counter(), time.thread_time()
        work(*args)
        took = {"clock": time.perf_counter() - clock, "processor": time.thread_time() - processor}
        with LOG.open("a", encoding="utf-8") as out:
            out.write(json.dumps(took) + "\n")

    return measured


if not hasattr(page, "unmeasured"):  # the module outlives a run of this script
    page.unmeasured = page._moved
    page._moved = timed(page.unmeasured)
runpy.run_path(str(ROOT / "app.py"), run_name="__main__")
