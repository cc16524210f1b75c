"""The app with models that answer at once, so that what is measured is all the rest of it. Run with `streamlit run`.

Texts are embedded by their words, and graded by the words that they share with the question.
"""

import os
import re
import runpy
import time
from pathlib import Path

import streamlit as st

from crag.core.config import AppConfig
from crag.engine import Engine
from crag.testing.fakes import ScriptedEvaluator
from tests.support.library_makers import HashEmbedder
from ui.app.program import program
from ui.edge import start

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


if __name__ == "__main__":
    program().make = engine
    runpy.run_path(str(Path(__file__).resolve().parent.parent / "app.py"), run_name="__main__")
elif os.environ.get("CRAG_SOAK_SERVED"):
    app = st.App(__file__, **start.prepared())
