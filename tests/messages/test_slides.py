"""The slides of a presentation: which there are of a run, in which order, each with one sentence."""

from dataclasses import replace

import pytest

from crag.core.trace import Round, Trace
from crag.core.types import RetrievedChunk
from crag.evaluation.refinement import make_strip
from crag.export.html.page_pictures import shown_sources
from crag.export.html.slides import run_slides
from crag.export.markdown import handed_over
from crag.testing.fakes import chunk_of
from tests.support.whole_run import approved, events, refused


def sentences(trace: Trace) -> dict[str, str]:
    return {slide.step: slide.says for slide in run_slides(trace, {})}


def test_another_search_of_the_library_is_a_slide_of_its_own():
    trace = Trace.from_events(events())
    again = replace(trace, rounds=(*trace.rounds, replace(trace.rounds[0], query="q", grades={}, decision=None)))
    slides = [slide for slide in run_slides(again, {}) if slide.step in ("Evaluate", "Retrieve")]
    assert [slide.step for slide in slides] == ["Evaluate", "Retrieve"]
    assert slides[1].says == "A search with a rewritten query finds the 3 closest passages, from 1 document."


@pytest.mark.parametrize("made", [events, approved, refused])
def test_every_moment_of_a_run_has_scenes_with_a_sentence_each(made):
    run = made()
    for length in range(len(run) + 1):
        for slide in run_slides(Trace.from_events(run[:length]), {}):
            assert slide.says.endswith((".", "?")) and slide.says[0].isupper()


def test_two_citations_of_one_page_are_shown_once():
    trace = Trace.from_events(events())
    first, web = trace.answer.citations
    more = replace(trace.answer, citations=(first, replace(first, number=3), web))
    assert [each.number for each in shown_sources(replace(trace, answer=more))] == [1, 2]


def test_evidence_that_was_handed_over_is_the_last_scene_and_no_answer_is_told():
    trace = replace(Trace.from_events(events()), wanted="evidence", answer=None, checks=(), via="mcp", client="notes")
    said = sentences(trace)
    assert list(said) == ["Question", "Evaluate", "Action", "Refine", "Search", "Hand over"]
    assert said["Question"] == "A question to the documents, through MCP (calls itself “notes”)."
    assert said["Hand over"].startswith("The evidence was handed to the program that asked through MCP")
    assert [text.split()[0] for _, text in handed_over(trace)] == ["Kept", "Web"]
    assert handed_over(replace(trace, cancelled=True)) == []


def test_strips_of_a_source_that_do_not_stand_together_are_told_apart():
    text, spans = "One. Two. Three. Four.", [(0, 4), (5, 9), (17, 22)]
    chunk = chunk_of(text)
    strips = tuple(make_strip(chunk.id, text, "internal", start, end, 0.5, kept=True) for start, end in spans)
    found = Round(query="q", chunks=(RetrievedChunk(chunk=chunk, rank=1, similarity=1.0),))
    trace = Trace(wanted="evidence", finished=True, rounds=(found,), strips={chunk.id: strips})
    assert handed_over(trace) == [(chunk, "One. Two. … Four.")]
