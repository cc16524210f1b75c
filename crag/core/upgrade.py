"""What earlier builds stored as sentences, read as facts. The one place that takes sentences apart, all of them old."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from crag.core.makers import named

__all__ = ["in_words", "upgraded_event", "upgraded_trace"]

Record = dict[str, Any]

_ID = re.compile(r"(?:(?:llm|reranker):)?(?:openai-compatible|openai|reranker):\S*[^\s.,;:!?)]")
"""The id of a model or evaluator in a sentence, without the punctuation after it."""
_SKIPPED = re.compile(r"It failed (\d+) times and is not asked again in this run\. The last time: (.*)", re.DOTALL)
_NO_RECORD = (AttributeError, KeyError, TypeError, ValueError)
_RERANKED = re.compile(r"\breranked by \S+$")
_NO = "The query was not approved, so nothing was sent."
_INSTEAD = {
    "The local evaluator graded instead.": "local evaluator",
    "The library was not searched again.": "same query",
    "The question itself is searched for.": "question",
    "The answer rests on your documents alone.": "documents",
    "These results are not remembered.": "not remembered",
    "The best sentences are quoted instead.": "quotes",
    "Their scores decide instead.": "scores",
    "Their scores decide.": "scores alone",
}
_BY = {re.compile(r"It is rewritten by (.+) instead\."): "rewriter", re.compile(r"(.+) is asked instead\."): "web"}


def upgraded_event(event: Record) -> Record:
    """An event as it is told today; one of today, and what is no event, as it is."""
    try:
        work = _EVENTS.get(str(event.get("kind")))
        return work(event) if work else event
    except _NO_RECORD:
        return event


def upgraded_trace(trace: Record) -> Record:
    """The record of a run that an earlier build stored; what is none as it is."""
    try:
        return _trace(trace)
    except _NO_RECORD:
        return trace


def _trace(trace: Record) -> Record:
    rounds = [
        {
            **each,
            "grades": {id: _grade(grade) for id, grade in each.get("grades", {}).items()},
            "joint": each.get("joint") and _grade(each["joint"]),
        }
        for each in trace.get("rounds", ())
    ]
    return {
        **trace,
        "rounds": rounds,
        "searches": [_searched(each) for each in trace.get("searches", ())],
        "web_grades": {id: _grade(grade) for id, grade in trace.get("web_grades", {}).items()},
        "checks": [_check(each) for each in trace.get("checks", ())],
        "failures": [_failed({"at": 0.0, **each}) for each in trace.get("failures", ())],
        "calls": [_call(each) for each in trace.get("calls", ())],
    }


def in_words(sentence: str) -> str:
    """A stored sentence with the ids in it as words: "qwen at 127.0.0.1:8080 did not reply in time."."""
    return _ID.sub(lambda found: named(found.group()), sentence)


def _apart(sentence: str) -> tuple[str, str]:
    """What a sentence says, and of whom: the id that it begins with, if it does."""
    found = _ID.match(sentence)
    return (sentence[found.end() :].strip(), found.group()) if found else (sentence, "")


def _failed(event: Record) -> Record:
    if "message" not in event or "cause" in event:
        return event
    said = str(event.get("instead", ""))
    instead, by = _INSTEAD.get(said, ""), ""
    for form, fact in _BY.items():
        if found := form.fullmatch(said):
            instead, by = fact, found.group(1)
    message = str(event["message"])
    cause, who = _apart(message.removesuffix(said).strip() if instead else message)
    reason = "not approved" if cause == _NO else "other"
    kept: Record = {name: value for name, value in event.items() if name != "message"}
    return {**kept, "cause": cause, "who": who, "reason": reason, "instead": instead, "by": by}


def _grade(grade: Record) -> Record:
    if "who" in grade:
        return grade
    evaluator, _, said = str(grade.get("instead_of", "")).partition(": ")
    times, found = 0, _SKIPPED.fullmatch(said)
    if found:
        times, said = int(found.group(1)), found.group(2)
    why, who = _apart(said)
    error = grade.get("error")
    if error is not None:
        error, who = _apart(error)
    reason = _RERANKED.sub("reranked", str(grade.get("reason", "")))
    facts = {"error": error, "reason": reason, "instead_of": evaluator, "why": why, "who": who}
    return {**grade, **facts, "failed_before": times}


def _check(check: Record) -> Record:
    if "by" in check:
        return check
    note = str(check.get("note", ""))
    found: Record = {"note": note if note in ("no citation", "quoted") else ""}
    if note.startswith("scored by "):
        found = {"note": "scored", "by": note.removeprefix("scored by ")}
    elif note.startswith("not scored: "):
        why, who = _apart(note.removeprefix("not scored: "))
        found = {"note": "not scored", "why": why, "who": who}
    elif note.endswith(" stands for no cited text"):
        found = {"note": "invented", "invented": [int(number) for number in re.findall(r"\[(\d+)\]", note)]}
    return {**check, **found}


def _call(call: Record) -> Record:
    if "who" in call or call.get("error") is None:
        return call
    error, who = _apart(str(call["error"]))
    return {**call, "error": error, "who": who}


def _searched(search: Record) -> Record:
    problems = [{"why": each} if isinstance(each, str) else each for each in search.get("problems", ())]
    return {**search, "problems": problems}


_EVENTS: dict[str, Callable[[Record], Record]] = {
    "failed": _failed,
    "graded": lambda event: {**event, "grade": _grade(event["grade"])},
    "verified": lambda event: {**event, "checks": [_check(each) for each in event["checks"]]},
    "called": lambda event: {**event, "call": _call(event["call"])},
    "searched": _searched,
}
