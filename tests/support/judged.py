"""A run whose strips a language model chose."""

import json
from dataclasses import replace

from crag.core.trace import Trace
from crag.evaluation.refinement import LlmStripSelector
from crag.pipeline.graph import run_graph
from crag.testing.fakes import FakeChat
from tests.support.paths import QUESTION, WEB, Case, FixedWeb

LAST = FakeChat(lambda messages: json.dumps({"keep": [messages[-1][1].count("<sentence ")]}))
"""Keeps the last strip of each source."""


def run(judge: str, texts: list[str], chat: FakeChat | None = LAST) -> Trace:
    case = Case("balanced", texts, web=FixedWeb(texts=WEB), changes={"strip_judge": judge})
    parts = replace(case.parts, selector=LlmStripSelector(chat) if chat else None)
    return Trace.from_events([case.events[0], *run_graph(QUESTION, parts)])
