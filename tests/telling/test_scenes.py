"""The scenes of a presentation: which there are of a run, in which order, each with one sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from crag.core.trace import Trace
from crag.telling.scenes import scenes, shown_sources
from crag.telling.wording import outcomes, scene_sentence
from tests.support.whole_run import approved, events, refused


def kinds(trace: Trace) -> list[str]:
    return [scene.kind for scene in scenes(trace)]


def sentences(trace: Trace) -> dict[str, str]:
    return {scene.kind: scene_sentence(scene, trace) for scene in scenes(trace)}


def test_a_whole_run_is_told_from_its_question_to_its_check():
    trace = Trace.from_events(events())
    assert kinds(trace) == [
        *("question", "found", "graded", "action", "kept", "web", "answer", "source", "source", "checked"),
    ]
    said = sentences(trace)
    assert said["graded"].endswith("1 may, 1 does not, 1 could not be graded.")
    assert said["action"].startswith("AMBIGUOUS: the best chunk scored 0.58, between 0.30 and 0.70")
    assert said["web"].endswith("with exactly this query: 1 page found, 1 used.")
    assert said["answer"].endswith("rests on 1 source in the documents and 1 source on the web.")
    assert said["checked"].endswith("1 of 2 are supported.")


@pytest.mark.parametrize("made", [events, approved, refused])
def test_every_moment_of_a_run_has_scenes_with_a_sentence_each(made):
    run = made()
    for length in range(len(run) + 1):
        trace = Trace.from_events(run[:length])
        for scene in scenes(trace):
            said = scene_sentence(scene, trace)
            assert said.endswith((".", "?")) and said[0].isupper()


def test_another_search_of_the_library_is_told_as_such():
    trace = Trace.from_events(events())
    twice = replace(trace, rounds=(trace.rounds[0], replace(trace.rounds[0], query="other words")))
    assert kinds(twice)[:7] == ["question", "found", "graded", "action", "rephrased", "graded", "action"]


def test_a_stop_and_a_failure_are_the_end_of_it():
    trace = replace(Trace.from_events(events()[:6]), cancelled=True, finished=True)
    assert kinds(trace)[-1] == "ended" and sentences(trace)["ended"] == "The run was stopped."


def test_two_citations_of_one_page_are_shown_once():
    trace = Trace.from_events(events())
    first, web = trace.answer.citations
    more = replace(trace.answer, citations=(first, replace(first, number=3), web))
    assert [each.number for each in shown_sources(replace(trace, answer=more))] == [1, 2]


def test_what_each_action_leads_to_is_of_the_runs_own_settings():
    assert list(outcomes(Trace.from_events(events())).values()) == ["documents alone", "documents and web", "web alone"]
