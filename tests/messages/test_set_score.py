"""What is said of the score of all retrieved chunks: on screen, in Markdown and in records, and of runs without one."""

import json
from dataclasses import replace
from typing import Any

import pytest

from crag.analysis.whatif.whatif import redecide
from crag.core.config import AppConfig
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import Aggregation, SetGrade, SetReadings
from crag.export.markdown import turn
from crag.export.records import RunRecord
from crag.messages.providers import describe_storage
from crag.messages.wording import decision_sentence, set_sentence, weighed_sentence
from tests.support.worlds import World

READINGS = SetReadings(
    best=0.62, agreeing=2, covered=0.6, absent=("Portugal", "2019"), years=("2019",), years_asked=1, keywords=9.0,
    closeness=0.4, words=2,
)  # fmt: skip
CHUNK_RULES = Settings(aggregation=Aggregation.ANY, upper=0.7, lower=0.3)


def run(aggregation: Aggregation) -> Trace:
    return World(seed=2).trace(CHUNK_RULES.changed(aggregation=aggregation))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {},
            "The best chunk scores 0.62. No chunk has the year 2019. No chunk has “Portugal”. "
            "2 other chunks with the same likely answer.",
        ),
        (
            {"absent": (), "years": (), "agreeing": 0},
            "The best chunk scores 0.62. Every word of the question stands in a chunk.",
        ),
        (
            {"absent": ("zorb", "plim"), "years": (), "agreeing": 1, "rank": 3},
            "The best chunk scores 0.62; 3 others came before it. No chunk has “zorb” or “plim”. "
            "1 other chunk with the same likely answer.",
        ),
    ],
)
def test_the_reasons_name_what_no_chunk_has(changes: dict[str, Any], said: str) -> None:
    assert set_sentence(SetGrade(score=0.3, readings=replace(READINGS, **changes))) == said


def test_where_the_set_decided_every_export_says_why() -> None:
    trace = run(Aggregation.SET)
    assert trace.round is not None and trace.round.together is not None and trace.decision is not None
    assert trace.decision.score == trace.round.together.score and trace.decision.deciding_id is None
    assert "together the passages fit" in decision_sentence(trace.decision)
    reason = weighed_sentence(trace)
    assert reason.startswith("The best chunk scores") and reason[:20] in turn(trace).replace("\\", "")
    record = RunRecord.of(trace).json_values()["rounds"][-1]["together"]
    assert (record["score"], record["reason"]) == (trace.round.together.score, reason)


def test_under_another_rule_it_is_known_and_does_not_decide() -> None:
    trace = run(Aggregation.ANY)
    assert trace.round is not None and trace.round.together is not None and trace.decision is not None
    assert trace.decision.deciding_id is not None and weighed_sentence(trace) == ""
    moved = redecide(trace, CHUNK_RULES.changed(aggregation=Aggregation.SET, max_rewrites=0))
    assert moved.decision is not None and moved.decision.score == trace.rounds[0].together.score  # type: ignore[union-attr]


def test_a_stored_run_without_it_is_read_and_decided_by_its_best_chunk() -> None:
    stored = json.loads(run(Aggregation.ANY).to_json())
    for each in stored["trace"]["rounds"]:
        del each["together"]
    trace = Trace.from_json(json.dumps(stored))
    assert all(each.together is None for each in trace.rounds) and trace.decision is not None
    assert redecide(trace, CHUNK_RULES).decision == trace.decision
    as_set = redecide(trace, CHUNK_RULES.changed(aggregation=Aggregation.SET)).decision
    assert as_set is not None and as_set.score == trace.decision.score
    assert "the best passage fits" in decision_sentence(as_set)


# What is said of where documents are kept: hosts, and never an address that may hold a password


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (AppConfig(), ["SQLite, on this machine", "FAISS and tantivy, on this machine"]),
        (
            AppConfig.of(
                database_url="postgresql+psycopg://me:secret@db.example:5432/crag",
                index="milvus",
                milvus_uri="https://cluster.example:19530",
            ),
            ["PostgreSQL, at db.example", "Milvus, at cluster.example"],
        ),
        (
            AppConfig.of(index="milvus", milvus_uri="index.db"),
            ["SQLite, on this machine", "Milvus Lite, on this machine"],
        ),
    ],
)
def test_where_documents_are_kept_is_told_without_addresses(config: AppConfig, said: list[str]) -> None:
    assert [status.detail for status in describe_storage(config)] == said
