"""The JSON record of a run: whole for every run, its parts named once, as its published schema says."""

import json
import random

import pytest
from jsonschema import Draft202012Validator

from crag.core.trace import Trace
from crag.export.records import EventRecord, HitRecord, RunRecord
from tests.support.worlds import World, first_settings


@pytest.fixture(scope="module")
def traces() -> list[Trace]:
    """Runs of many kinds: with and without chunks, grades, failed grades, web searches, answers."""
    return [World(seed=seed).trace(first_settings(random.Random(seed))) for seed in range(40)]


def test_every_run_has_a_record_that_fits_its_schema(traces: list[Trace]) -> None:
    schema = Draft202012Validator(RunRecord.model_json_schema(mode="serialization"))
    for trace in traces:
        record = json.loads(RunRecord.of(trace).model_dump_json())
        schema.validate(record)
        assert record == RunRecord.of(trace).json_values()
        assert record["kind"] == "trace" and record["action"] == trace.action


def test_a_chunk_says_of_its_grade_what_there_is(traces: list[Trace]) -> None:
    seen = set()
    for trace in filter(lambda each: each.round, traces):
        assert trace.round is not None
        for chunk in RunRecord.of(trace).json_values()["chunks"]:
            grade = trace.round.grades.get(chunk["id"])
            given = {"error", "reason", "evaluator", "cached"} & chunk.keys()
            if grade is None:
                seen.add("none")
                assert chunk["score"] is None and not given
            elif grade.score is None:
                seen.add("failed")
                assert chunk["score"] is None and given == {"error", "evaluator"} and grade.error in chunk["error"]
            else:
                seen.add("scored")
                assert chunk["score"] == grade.score and given == {"reason", "evaluator", "cached"}
    assert seen == {"none", "failed", "scored"}


def test_a_strip_names_the_document_or_the_web_page_that_it_is_of(traces: list[Trace]) -> None:
    origins = set()
    for trace in traces:
        for strip in RunRecord.of(trace).json_values()["strips"]:
            origins.add(strip["origin"])
            assert strip["source"]
            assert ("url" in strip, "place" in strip) == (strip["origin"] == "external", strip["origin"] == "internal")
    assert origins == {"internal", "external"}


def test_hits_and_events_have_records_too(traces: list[Trace]) -> None:
    hit = next(hit for trace in traces for each in trace.rounds for hit in each.chunks)
    assert HitRecord.of(hit).json_values()["id"] == hit.chunk.id
    events = World(seed=3).run(first_settings(random.Random(3)))
    records = [EventRecord.of(event).model_dump() for event in events]
    assert [each["kind"] for each in records] == [event.kind for event in events]
    assert all(each["sentence"] for each in records if each["kind"] == "action_taken")
