"""A result that is worked out from cells, from the question to what is stored, written and drawn of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from crag.core.config import AppConfig
from crag.core.trace import Trace
from crag.engine import Engine
from crag.export.markdown import extract_answer, opening, turn
from crag.export.records import RunRecord
from crag.messages.answers import brief_text
from crag.testing.fakes import ScriptedEvaluator
from tests.support.small_library import WordEmbedder

REPORT = """<html><head><title>Acme, annual report 2020</title></head><body>
<p>Acme sells anvils to coyotes all over the desert. The year was a good one for the company and its customers.</p>
<table><tr><th>(in millions)</th><th>2020</th><th>2019</th></tr>
<tr><td>Net sales</td><td>1,200</td><td>1,000</td></tr><tr><td>Operating income</td><td>150</td><td>100</td></tr>
<tr><td>Anvils recalled</td><td>3</td><td>4</td></tr></table></body></html>"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    folder: Path = tmp_path_factory.mktemp("worked")
    engine = Engine(
        AppConfig.of(data=folder), embedder=WordEmbedder(), evaluator=ScriptedEvaluator(score=lambda text: 0.9)
    )
    try:
        list(engine.add_files([("report.html", REPORT.encode)]))
        return engine.trace("What was operating income as a percentage of net sales in 2020?")
    finally:
        engine.close()


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
