"""Stored runs for what drives the app: ten chunks and five web pages as long as real ones, with drawn scores.

The product's graph makes them over fakes and cuts the strips.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from benchmarks.fakes import PATHS as COURSES
from benchmarks.fakes import SETTINGS, TEXTS, parts_of
from crag.analysis.evaluate import add_set
from crag.analysis.questions.sets import Question, QuestionSet
from crag.core import events as ev
from crag.core.trace import Trace
from crag.generation.extractive import ExtractiveGenerator
from crag.generation.verification import CitationVerifier
from crag.pipeline.fallback import FallbackWeb
from crag.pipeline.graph import run_graph
from crag.storage.library import Library
from crag.testing.fakes import FixedWeb, ScriptedEvaluator

PAGES = [f"{text} It was found online." * 3 for text in TEXTS[:5]]


def stored_run(number: int) -> Trace:
    """A run of the strategy `balanced`. Its scores are drawn around how well its question is answered."""
    draw = random.Random(number)
    level = draw.random()

    def score(text: str) -> float | None:
        return None if draw.random() < 0.005 else round(draw.betavariate(0.1 + level**3, 5), 4)

    evaluator = ScriptedEvaluator(score=score)
    made = parts_of(next(iter(COURSES.values())))
    parts = replace(
        made,
        evaluator=evaluator,
        web=FallbackWeb([FixedWeb(texts=PAGES)], made.emitter, made.meter),
        generator=ExtractiveGenerator(evaluator),
        verifier=CitationVerifier(evaluator),
    )
    question = f"How long did hiring take on average in {number}?"
    start = ev.RunStarted(
        run_id=f"run-{number}",
        question=question,
        strategy="balanced",
        settings=SETTINGS.model_dump(mode="json"),
        workspace="benchmark",
        started_at="2026-01-01T00:00:00+00:00",
    )
    return Trace.from_events([start, *run_graph(question, parts)])


def store_runs(library: Library, runs: int) -> None:
    """Store this many runs, and a set that labels each question: answered on one page, or by nothing in the library."""
    questions = []
    for number in range(runs):
        trace = stored_run(number)
        library.runs.save(trace, [])
        answered = random.Random(number).random() > 0.4
        about: dict[str, Any] = {"sources": ("report.pdf",), "pages": (1 + number % 10,)}
        known = about if answered else {"labels": ("unanswerable",)}
        questions.append(Question(id=str(number), question=trace.question, **known))
    add_set(library, QuestionSet(name="benchmark", questions=tuple(questions)))
