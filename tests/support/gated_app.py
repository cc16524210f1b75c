"""The app with work that can be held: while the file CRAG_TEST_GATE names exists, grading waits.

While one of the same name and ".reading" exists, so does the reading of files. Run with `streamlit run`, behind the
same edge as the app; the browser tests use it to look at a run, and to touch things, in its middle.
"""

import os
import runpy
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import streamlit as st

from crag.core.config import AppConfig
from crag.core.types import Grade, Passage
from crag.engine import Engine
from crag.runtime.fair_queue import FairQueue
from tests.support.remembering import RememberingE5, RememberingEvaluator
from ui.app.program import program
from ui.server import start

GATE = Path(os.environ["CRAG_TEST_GATE"])
READING = GATE.with_suffix(".reading")
FREE = 3
"""Grades that pass a closed gate."""


class GatedReaders(FairQueue):
    """Lets nothing be read while the gate of reading is closed."""

    @contextmanager
    def taken(self, cancel: threading.Event, report: Callable[[int], None] = lambda before: None) -> Iterator[None]:
        while READING.exists() and not cancel.is_set():
            time.sleep(0.02)
        with super().taken(cancel, report):
            yield


class GatedEvaluator:
    """Grades chunks as `inner` does, but stops after a few while the gate is closed. Strips are graded at once."""

    def __init__(self, inner: RememberingEvaluator) -> None:
        self.inner, self.id, self.calls_models = inner, inner.id, inner.calls_models

    def grade(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
        for number, grade in enumerate(self.inner.grade(question, passages)):
            while number >= FREE and GATE.exists():
                time.sleep(0.02)
            yield grade

    def grade_joint(self, question: str, passages: Sequence[Passage]) -> Grade:
        return self.inner.grade_joint(question, passages)

    def grade_strips(self, question: str, passage: Passage, spans: Sequence[tuple[int, int]]) -> Sequence[float | None]:
        return self.inner.grade_strips(question, passage, spans)


def gated(config: AppConfig) -> Engine:
    embedder, evaluator = RememberingE5(config.models.threads), RememberingEvaluator(config.models.threads)
    engine = Engine(config, embedder=embedder, evaluator=GatedEvaluator(evaluator))
    engine.readers = GatedReaders(config.limits.readers)
    return engine


if __name__ == "__main__":
    program().make = gated
    runpy.run_path(str(Path(__file__).resolve().parents[2] / "app.py"), run_name="__main__")
else:
    app = st.App(__file__, **start.prepared())
