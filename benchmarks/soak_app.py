"""The app with models that answer at once, so that what is measured is all the rest of it. Run with `streamlit run`.

Texts are embedded by their words, and graded by the words that they share with the question.
"""

import datetime
import importlib
import os
import pkgutil
import re
import runpy
import sys
import time
from pathlib import Path

import streamlit as st

import crag
import ui
from crag.core.config import AppConfig
from crag.engine import Engine
from crag.testing.fakes import ScriptedEvaluator
from tests.support.library_makers import HashEmbedder
from ui.app.program import program
from ui.server import start

GRADE_SECONDS = float(os.environ.get("CRAG_SOAK_GRADE", "0"))
"""What a retrieval's grades take together."""


def engine(config: AppConfig) -> Engine:
    """With these models; made for a library beforehand too."""
    return Engine(config, embedder=HashEmbedder(), evaluator=_Evaluator(score=_score, id="soak"))


class _Evaluator(ScriptedEvaluator):
    """Grades by shared words, in so many seconds."""

    def grade(self, question, passages):  # type: ignore[no-untyped-def]
        time.sleep(GRADE_SECONDS)
        yield from super().grade(question, passages)


def _score(text: str) -> float:
    return 0.9 if re.search(r"tells|says|took", text) else 0.1


def shift_clock(said: Path) -> None:
    """From now on the app's modules and `time.time` are so many seconds ahead as a file says: below 0, behind.

    Libraries keep the true time, and so does what measures spans, as when a system's clock is set.
    """
    real, real_time = datetime.datetime, time.time

    def ahead() -> float:
        return float(said.read_text(encoding="utf-8") or 0)

    class Shifted(real):  # type: ignore[misc,valid-type]
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
            return real.now(tz) + datetime.timedelta(seconds=ahead())

    for package in (crag, ui):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not re.search(r"testing|langchain|mcp|server|__main__", found.name):
                importlib.import_module(found.name)
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("crag", "ui") and getattr(module, "datetime", None) is real:
            module.datetime = Shifted  # type: ignore[attr-defined]
    time.time = lambda: real_time() + ahead()


if (clock := os.environ.get("CRAG_SOAK_CLOCK")) and not hasattr(st, "soak_clock"):
    st.soak_clock = True  # type: ignore[attr-defined] # once in a process: Streamlit runs this file for each visitor
    shift_clock(Path(clock))

if __name__ == "__main__":
    program().make = engine
    runpy.run_path(str(Path(__file__).resolve().parent.parent / "app.py"), run_name="__main__")
elif os.environ.get("CRAG_SOAK_SERVED"):
    app = st.App(__file__, **start.prepared())
