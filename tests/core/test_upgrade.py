"""What earlier builds stored as sentences is read as facts, and said in the words that it had."""

from __future__ import annotations

import json
from typing import Any

import pytest

from crag.core import events as ev
from crag.core.eventlog import event_from_json, event_to_json, events_from_jsonl, events_to_jsonl
from crag.core.trace import FORMAT, Trace
from crag.core.types import Grade, SentenceCheck, Unread
from crag.core.upgrade import in_words, upgraded_event
from crag.core.verdicts import check_sentence
from crag.core.wording import about, failure_sentence, unread_sentence, why_sentence
from tests.support.stored import DATA, RUNS

QWEN = "openai-compatible:qwen@127.0.0.1:8080"
GRADER = f"llm:{QWEN}:2"
BROKEN = "failed (status 500)."


def read(kind: str, **values: Any) -> Any:
    return event_from_json(json.dumps({"kind": kind, "at": 1.0, **values}))


def failed(message: str, instead: str = "") -> ev.Failed:
    found = read("failed", step="search", message=message, remedy="Wait.", fatal=False, instead=instead)
    assert isinstance(found, ev.Failed)
    return found


@pytest.mark.parametrize(
    ("cause", "instead", "facts"),
    [
        (f"{QWEN} {BROKEN}", "The local evaluator graded instead.", (BROKEN, QWEN, "local evaluator", "", "other")),
        ("It is down.", "It is rewritten by keywords instead.", ("It is down.", "", "rewriter", "keywords", "other")),
        ("It is down.", "folder is asked instead.", ("It is down.", "", "web", "folder", "other")),
        (
            "The query was not approved, so nothing was sent.",
            "The answer rests on your documents alone.",
            ("The query was not approved, so nothing was sent.", "", "documents", "", "not approved"),
        ),
        ("No model is set.", "Their scores decide.", ("No model is set.", "", "scores alone", "", "other")),
        ("The library is empty.", "", ("The library is empty.", "", "", "", "other")),
    ],
)
def test_a_failure_is_its_cause_who_failed_and_who_stood_in(
    cause: str, instead: str, facts: tuple[str, str, str, str, str]
) -> None:
    found = failed(f"{cause} {instead}".strip(), instead)
    assert (found.cause, found.who, found.instead, found.by, found.reason) == facts
    assert failure_sentence(found) == f"{cause} {instead}".strip()


def test_what_was_done_instead_in_words_that_nobody_knows_stays_a_part_of_the_cause() -> None:
    found = failed("It broke. The moon decides.", "The moon decides.")
    assert (found.cause, found.instead) == ("It broke. The moon decides.", "")


def grade(**values: Any) -> Grade:
    found = read("graded", grade={"passage_id": "c", "score": 0.2, "evaluator": "local-3", **values})
    assert isinstance(found, ev.Graded)
    return found.grade


def test_a_grade_in_anothers_place_names_it_and_how_it_failed() -> None:
    once = grade(instead_of=f"{GRADER}: {QWEN} {BROKEN}")
    assert (once.instead_of, once.why, once.who, once.failed_before) == (GRADER, BROKEN, QWEN, 0)
    told = "It failed 3 times and is not asked again in this run. The last time: "
    given_up = grade(instead_of=f"{GRADER}: {told}{QWEN} {BROKEN}")
    assert (given_up.why, given_up.who, given_up.failed_before) == (BROKEN, QWEN, 3)
    assert why_sentence(given_up) == f"{told}{QWEN} {BROKEN}"
    broken = grade(score=None, error=f"{QWEN} {BROKEN}")
    assert (broken.error, broken.who) == (BROKEN, QWEN) and about(broken.error, broken.who) == f"{QWEN} {BROKEN}"


def test_who_reranked_is_no_part_of_the_reason() -> None:
    assert grade(reason=f"reranked by {QWEN}").reason == "reranked"
    assert grade(reason=f"best of 3 passages: reranked by {QWEN}").reason == "best of 3 passages: reranked"
    assert grade(reason="it names the bridge").reason == "it names the bridge"


@pytest.mark.parametrize(
    "note",
    [
        *("", "quoted", "no citation", f"scored by {GRADER}", f"not scored: {QWEN} {BROKEN}"),
        "[9], [10] stands for no cited text",
    ],
)
def test_how_a_sentence_was_checked_is_said_as_it_was(note: str) -> None:
    found = read(
        "verified", checks=[{"sentence": "S.", "citations": [9], "supported": None, "note": note}], faithfulness=None
    )
    [check] = found.checks
    assert check_sentence(check) == note
    assert isinstance(check, SentenceCheck) and check.note in (
        "",
        "quoted",
        "no citation",
        "scored",
        "not scored",
        "invented",
    )


def test_a_failed_call_and_the_problems_of_a_search() -> None:
    call = {"step": "answer", "provider": "p", "model": "m", "seconds": 0.1, "error": f"{QWEN} {BROKEN}"}
    found = read("called", call=call)
    assert (found.call.error, found.call.who) == (BROKEN, QWEN)
    searched = read("searched", query="q", provider="p", pages=[], problems=["example.org was not read: it broke."])
    assert searched.problems == (Unread(why="example.org was not read: it broke."),)
    assert unread_sentence(searched.problems[0]) == "example.org was not read: it broke."


@pytest.mark.parametrize("name", RUNS)
def test_an_event_of_today_stays_as_it_is(name: str) -> None:
    events = events_from_jsonl((DATA / "runs" / f"{name}.jsonl").read_text(encoding="utf-8"))
    for event in events:
        told = json.loads(event_to_json(event))
        assert upgraded_event(told) == told


@pytest.mark.parametrize("name", RUNS)
def test_a_stored_run_reads_as_it_did(name: str) -> None:
    """Every failure, word for word, is what its event said then."""
    lines = (DATA / "runs" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    old = [json.loads(line) for line in lines]
    for before, event in zip(old, events_from_jsonl("\n".join(lines)), strict=True):
        match event:
            case ev.Failed():
                assert failure_sentence(event) == before["message"] and event.remedy == before["remedy"]
            case ev.Called():
                assert about(event.call.error, event.call.who) == (before["call"]["error"] or "")
            case ev.Graded() if event.grade.instead_of:
                assert f"{event.grade.instead_of}: {why_sentence(event.grade)}" == before["grade"]["instead_of"]
            case ev.Verified():
                assert [check_sentence(check) for check in event.checks] == [each["note"] for each in before["checks"]]
            case _:
                assert event.kind == before["kind"]


@pytest.mark.parametrize(
    "line", ['{"kind":"failed","message":3}', '{"kind":"graded"}', '{"kind":"verified","checks":7}']
)
def test_what_is_half_an_old_event_is_refused(line: str) -> None:
    with pytest.raises(ValueError):
        event_from_json(line)


def test_an_event_of_a_newer_build_is_skipped_and_it_is_known() -> None:
    lines = events_to_jsonl([ev.Token(text="a", at=1.0), ev.RunFinished(at=3.0)]).splitlines()
    lines.insert(1, json.dumps({"kind": "of_tomorrow", "at": 2.0, "more": [1]}))
    events = events_from_jsonl("\n".join(lines))
    assert events[1] == ev.Skipped(name="of_tomorrow", at=2.0)
    trace = Trace.from_events(events)
    assert trace.newer and trace.finished and not Trace.from_events([events[0], events[2]]).newer
    assert events_from_jsonl(events_to_jsonl(events)) == events


def test_a_record_of_a_newer_build_is_read_as_far_as_it_is_known() -> None:
    stored = json.loads(Trace(run_id="r", text="a").to_json())
    assert stored["format"] == FORMAT
    stored = {**stored, "format": FORMAT + 1, "trace": {**stored["trace"], "weather": "fine"}}
    assert Trace.from_json(json.dumps(stored)) == Trace(run_id="r", text="a", newer=True)


def test_ids_in_a_stored_sentence_are_words_and_its_punctuation_stays() -> None:
    assert in_words(f"It is rewritten by {QWEN}.") == "It is rewritten by qwen at 127.0.0.1:8080."
    assert in_words("Nothing to say: all is well.") == "Nothing to say: all is well."
