"""The overhead benchmark compares like with like: every way takes the same steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.overhead import PATHS, bare_run, engine_of, parts_of
from crag.core import events as ev
from crag.core.trace import Trace
from crag.pipeline.graph import NODES, run_graph

QUESTION = "How many days did it take in 2019?"


@pytest.mark.parametrize("name", PATHS)
def test_all_ways_take_the_same_steps(name: str, tmp_path: Path) -> None:
    course = PATHS[name]
    nodes = list(bare_run(QUESTION, course))
    assert tuple(nodes) == course.nodes
    engine = engine_of(course, tmp_path)
    trace = Trace.from_events(engine.ask(QUESTION))
    engine.close()
    assert [record.step for record in trace.steps] == [NODES[node][0] for node in nodes]
    alone = [event.step for event in run_graph(QUESTION, parts_of(course)) if isinstance(event, ev.StepStarted)]
    assert alone == [record.step for record in trace.steps]
    assert trace.action == name.partition(",")[0]
    assert len(trace.rounds[0].grades) == 10 and not trace.failures
    assert trace.answer is not None and not trace.answer.abstained
