"""A run for another program: evidence alone, anybody's retriever, who asked; and one followed from a coroutine."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from crag.core import events as ev
from crag.core.config import AppConfig
from crag.core.errors import CragError, SettingsError
from crag.core.protocols import RunRequest
from crag.core.strategies import STRATEGIES
from crag.core.trace import Trace
from crag.engine import Engine
from crag.export.markdown import extract_answer, opening, turn
from crag.export.records import RunRecord
from crag.messages.answers import brief_text
from crag.runtime.jobs import follow_run
from crag.testing.fakes import FixedRetriever, ScriptedEvaluator
from tests.support.small_library import WordEmbedder, fill

QUESTION = "How long did hiring take in 2019?"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_run_that_wants_evidence_ends_at_its_strips_and_is_stored(engine: Engine, strategy: str) -> None:
    fill(engine)
    trace = engine.trace(
        RunRequest(QUESTION, strategy, wanted="evidence", via="agent", client="one\n two " + "x" * 100)
    )
    whole = engine.trace(RunRequest(QUESTION, strategy))
    assert (trace.answer, trace.failures, trace.checks) == (None, (), ())
    assert [each.step for each in trace.steps] == [
        each.step for each in whole.steps if each.step not in ("answer", "verify")
    ]
    assert (trace.action, trace.strips) == (whole.action, whole.strips)
    last, first = engine.library().runs.latest()
    assert (first.via, last.via) == ("agent", "python")
    stored = engine.library().runs.trace(trace.run_id)
    assert (stored.wanted, stored.via, stored.client) == ("evidence", "agent", "one two " + "x" * 52)
    with pytest.raises(CragError, match="without an answer"):
        engine.answer(RunRequest(QUESTION, strategy, wanted="evidence"))


def test_a_filter_that_the_retriever_would_not_obey_is_refused(engine: Engine) -> None:
    settings = STRATEGIES["balanced"].settings.changed(where={"verified": True})
    with pytest.raises(SettingsError, match="another store"):
        engine.ask(RunRequest(QUESTION, settings=settings, retriever=FixedRetriever(chunks=[])))


def test_a_run_is_followed_from_a_coroutine(engine: Engine) -> None:
    fill(engine)

    async def heard() -> list[ev.Event]:
        return [event async for event in follow_run(engine.ask(QUESTION), threading.Event())]

    events = asyncio.run(heard())
    assert engine.library().runs.events(Trace.from_events(events).run_id) == events


def test_who_stops_listening_stops_the_run_which_is_taken_to_its_end() -> None:
    cancel, ended, done = threading.Event(), threading.Event(), list[str]()

    def run() -> Iterator[int]:
        yield 1
        assert cancel.wait(30)
        yield 2
        done.append("stored")

    async def heard() -> None:
        events = follow_run(run(), cancel, ended.set)
        async for _ in events:
            break
        await events.aclose()  # type: ignore[attr-defined]

    asyncio.run(heard())
    assert ended.wait(30) and done == ["stored"]


# A result that is worked out from cells, from the question to what is stored, written and drawn of it


REPORT = """<html><head><title>Acme, annual report 2020</title></head><body>
<p>Acme sells anvils to coyotes all over the desert. The year was a good one for the company and its customers.</p>
<table><tr><th>(in millions)</th><th>2020</th><th>2019</th></tr>
<tr><td>Net sales</td><td>1,200</td><td>1,000</td></tr><tr><td>Operating income</td><td>150</td><td>100</td></tr>
<tr><td>Anvils recalled</td><td>3</td><td>4</td></tr></table></body></html>"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    folder: Path = tmp_path_factory.mktemp("worked")
    with Engine(
        AppConfig.of(data=folder), embedder=WordEmbedder(), evaluator=ScriptedEvaluator(score=lambda text: 0.9)
    ) as engine:
        list(engine.add_files([("report.html", REPORT.encode)]))
        return engine.trace("What was operating income as a percentage of net sales in 2020?")


def test_the_result_is_answered_and_every_row_cited_and_checked(run: Trace) -> None:
    assert run.answer is not None and run.answer.calculation is not None
    assert run.answer.calculation.equation == "150 ÷ 1,200 = 12.5%"
    assert [each.quote.partition(":")[0] for each in run.answer.citations] == ["Operating income", "Net sales"]
    assert [check.supported for check in run.checks] == [True, True]
    assert not run.answer.low_confidence and not run.answer.short


def test_it_is_written_wherever_an_answer_is(run: Trace) -> None:
    assert run.answer is not None and run.exchange is not None
    said = brief_text(run.answer)
    assert "12.5%" in said and "2 cells" in said and "150 ÷ 1,200" in said
    assert run.exchange.answer == "12.5%"
    assert said in turn(run).replace("\\", "") and said in extract_answer(opening(run.answer) + run.answer.text)
    record = RunRecord.of(run).model_dump(mode="json")["calculation"]
    assert (record["result"], record["formula"], record["values"]) == ("12.5%", "#1 ÷ #2", ["150", "1,200"])
    assert [cell["row"] for cell in record["cells"]] == ["Operating income", "Net sales"]
