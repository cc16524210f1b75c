"""The slides of a presentation: which there are of a run, in which order, each with one sentence."""

from dataclasses import replace

import pytest

from crag.core.trace import Round, Trace
from crag.core.types import RetrievedChunk
from crag.evaluation.refinement import make_strip
from crag.export.markdown import handed_over
from crag.messages.slide_sentences import describe_slide, outcomes
from crag.messages.slides import build_slides, shown_sources
from crag.testing.fakes import chunk_of
from tests.support.whole_run import approved, events, refused


def kinds(trace: Trace) -> list[str]:
    return [slide.kind for slide in build_slides(trace)]


def sentences(trace: Trace) -> dict[str, str]:
    return {slide.kind: describe_slide(slide, trace) for slide in build_slides(trace)}


def test_a_whole_run_is_told_from_its_question_to_its_check():
    trace = Trace.from_events(events())
    assert kinds(trace) == [
        *("question", "found", "graded", "action", "kept", "web", "answer", "source", "source", "checked")
    ]
    said = sentences(trace)
    assert said["graded"].endswith("1 may, 1 does not, 1 could not be graded.")
    assert said["action"].startswith("AMBIGUOUS: the best chunk scored 0.58, between 0.30 and 0.70")
    assert said["web"].endswith("for this exact query: 1 page found, 1 used.")
    assert said["answer"].endswith("rests on 1 source in the documents and 1 source on the web.")
    assert said["checked"].endswith("1 of 2 are supported.")


@pytest.mark.parametrize("made", [events, approved, refused])
def test_every_moment_of_a_run_has_scenes_with_a_sentence_each(made):
    run = made()
    for length in range(len(run) + 1):
        trace = Trace.from_events(run[:length])
        for slide in build_slides(trace):
            said = describe_slide(slide, trace)
            assert said.endswith((".", "?")) and said[0].isupper()


def test_two_citations_of_one_page_are_shown_once():
    trace = Trace.from_events(events())
    first, web = trace.answer.citations
    more = replace(trace.answer, citations=(first, replace(first, number=3), web))
    assert [each.number for each in shown_sources(replace(trace, answer=more))] == [1, 2]


def test_what_each_action_leads_to_is_of_the_runs_own_settings():
    assert list(outcomes(Trace.from_events(events())).values()) == ["documents alone", "documents and web", "web alone"]


def test_evidence_that_was_handed_over_is_the_last_scene_and_no_answer_is_told():
    trace = replace(Trace.from_events(events()), wanted="evidence", answer=None, checks=(), via="mcp", client="notes")
    assert kinds(trace) == ["question", "found", "graded", "action", "kept", "web", "handed"]
    said = sentences(trace)
    assert said["question"] == "A question to the documents, through MCP (calls itself “notes”)."
    assert said["handed"].startswith("The evidence was handed to the program that asked through MCP")
    assert [text.split()[0] for _, text in handed_over(trace)] == ["Kept", "Web"]
    assert handed_over(replace(trace, cancelled=True)) == []


def test_strips_of_a_source_that_do_not_stand_together_are_told_apart():
    text, spans = "One. Two. Three. Four.", [(0, 4), (5, 9), (17, 22)]
    chunk = chunk_of(text)
    strips = tuple(make_strip(chunk.id, text, "internal", start, end, 0.5, kept=True) for start, end in spans)
    found = Round(query="q", chunks=(RetrievedChunk(chunk=chunk, rank=1, similarity=1.0),))
    trace = Trace(wanted="evidence", finished=True, rounds=(found,), strips={chunk.id: strips})
    assert handed_over(trace) == [(chunk, "One. Two. … Four.")]
