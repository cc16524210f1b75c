"""The app as `benchmarks.tune` drives it: what a move of a slider takes on the server is written to a file.

Run with `streamlit run`. With CRAG_BENCH_BARE set it is a page of one such slider and one line instead, which is what
Streamlit itself takes.
"""

import json
import os
import runpy
import time
from pathlib import Path
from typing import Any

import streamlit as st

from ui.tune import page

LOG = Path(os.environ["CRAG_BENCH_LOG"])
ROOT = Path(__file__).resolve().parents[1]


def bare() -> None:
    """The least that a slider can move."""

    @st.fragment
    def bench() -> None:
        low, high = st.slider("Thresholds", 0.0, 1.0, (0.2, 0.4), step=0.01, format="%.2f")
        st.html(f'<p class="rail"><span class="name">{low:.2f} {high:.2f}</span></p>')

    bench()


def timed(work: Any) -> Any:
    """The page's own work with its time by the clock and of the processor written down."""

    def measured(*args: Any) -> None:
        clock, processor = time.perf_counter(), time.thread_time()
        work(*args)
        took = {"clock": time.perf_counter() - clock, "processor": time.thread_time() - processor}
        with LOG.open("a", encoding="utf-8") as out:
            out.write(json.dumps(took) + "\n")

    return measured


if os.environ.get("CRAG_BENCH_BARE"):
    bare()
else:
    if not hasattr(page, "unmeasured"):  # the module outlives a run of this script
        page.unmeasured = page._moved
        page._moved = timed(page.unmeasured)
    runpy.run_path(str(ROOT / "app.py"), run_name="__main__")
