"""The app with work that can be held: while the file CRAG_TEST_GATE names exists, grading waits.

While one of the same name and ".reading" exists, so does the reading of files, and with ".embedding" the making of
vectors. Run with `streamlit run`, behind the same edge as the app; the browser tests use it to look at a run, and to
touch things, in its middle.
"""

import os
import runpy
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from crag.core.config import AppConfig
from crag.core.types import Grade, Passage
from crag.engine import Engine
from crag.runtime.fair_queue import FairQueue
from tests.support.remembering import RememberingE5, RememberingEvaluator
from ui.app.program import program
from ui.server import start

GATE = Path(os.environ["CRAG_TEST_GATE"])
READING, EMBEDDING = GATE.with_suffix(".reading"), GATE.with_suffix(".embedding")
FREE = 3
"""Grades that pass a closed gate."""


class GatedEmbedder(RememberingE5):
    """Embeds, but not while the gate of embedding is closed."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        while EMBEDDING.exists():
            time.sleep(0.02)
        return super().embed(texts)


class GatedReaders(FairQueue):
    """Lets nothing be read while the gate of reading is closed."""

    @contextmanager
    def taken(self, cancel: threading.Event, report: Callable[[int], None] = lambda before: None) -> Iterator[None]:
        while READING.exists() and not cancel.is_set():
            time.sleep(0.02)
        with super().taken(cancel, report):
            yield


class GatedEvaluator(RememberingEvaluator):
    """Grades chunks, but stops after a few while the gate is closed. Strips are graded at once."""

    def grade(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
        for number, grade in enumerate(super().grade(question, passages)):
            while number >= FREE and GATE.exists():
                time.sleep(0.02)
            yield grade


def gated(config: AppConfig) -> Engine:
    embedder, evaluator = GatedEmbedder(config.models.threads), GatedEvaluator(config.models.threads)
    engine = Engine(config, embedder=embedder, evaluator=evaluator)
    engine.readers = GatedReaders(config.limits.readers)
    return engine


if __name__ == "__main__":
    program().make = gated
    runpy.run_path(str(Path(__file__).resolve().parents[2] / "app.py"), run_name="__main__")
else:
    app = st.App(__file__, **start.prepared())
