"""What uploads leave behind in memory once they are stored."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.attacks.figure import Figure, main
from tests.support.small_pdf import small_pdf

FILES, MB = 4, 60


def four_large_files_uploaded() -> Figure:
    """Four PDFs of 60 MB, as a browser's upload hands them over; what the process holds before and after."""
    os.environ["CRAG_DATA"] = tempfile.mkdtemp()
    sys.path.insert(0, os.getcwd())
    import streamlit as st

    from ui.app.program import program
    from ui.documents import uploads

    class Visitor:
        workspace = "default"

    def reader(number: int) -> Callable[[], bytes]:
        data = _pdf(number)
        return lambda: data

    engine = program().engine
    for thread in threading.enumerate():
        if thread.name == "warm-up":
            thread.join()
    uploads.start(Visitor(), [("small.pdf", lambda: _pdf(9, mb=1))], "a small one first")
    _wait(program().jobs)
    before = _resident_mb()
    st.session_state["upload"] = None
    uploads.start(Visitor(), [(f"{number}.pdf", reader(number)) for number in range(FILES)], "four files")
    _wait(program().jobs)
    stored = len(engine.library().documents.all()) - 1
    after = _resident_mb()
    return Figure(
        finding=8,
        what=f"{FILES} files of {MB} MB uploaded and stored: memory held while the job is remembered, more than before",
        value=f"{after - before:,.0f} MB ({stored} stored)",
    )


def _wait(jobs: Any) -> None:
    while jobs.running():
        time.sleep(0.1)
    gc.collect()


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024**2


def _pdf(number: int, mb: int = MB) -> bytes:
    """One page with a sentence, and so many MB that no page uses."""
    told = f"Document {number} tells of the lighthouse that guided ships."
    return small_pdf(told, ballast=os.urandom(1024 * 1024) * mb)


if __name__ == "__main__":
    main([four_large_files_uploaded])
