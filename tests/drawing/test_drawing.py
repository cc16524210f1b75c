"""What the drawing functions make of a trace at every moment of a run."""

import base64
import hashlib
import itertools
import json
import re
from dataclasses import replace

import pytest

from crag.core import events as ev
from crag.core.trace import Trace
from crag.core.types import Answer, ShortAnswer
from crag.export.html import answer, evidence, pages, path
from crag.export.html.passage import Passage, View, draw_surroundings
from tests.support.inspector import Inspector
from tests.support.whole_run import NASTY, events, strip


def test_the_path_lights_the_active_step_and_dims_skipped_ones():
    live = path.path(Trace.from_events(events()[:6]))
    assert '<li class="active" aria-current="step">Evaluate' in live and '<li class="waiting">Answer' in live
    over = path.path(Trace.from_events(events()))
    assert '<li class="done">Evaluate<span class="t">30 ms' in over and '<li class="skipped">Refine' in over


def test_the_action_is_icon_word_and_sentence():
    said = path.action(Trace.from_events(events()))
    assert 'class="action ambiguous"' in said and "◐" in said and "Your documents: partly" in said
    text = Inspector(said).said
    assert "The best passage fits 0.58, between 0.30 and 0.70" in text and "1 of 2 strips" in text
    assert "Grading: 1 of 3 chunks" in path.action(Trace.from_events(events()[:6]))


def test_scores_stand_against_both_thresholds_and_a_failed_grade_is_its_own_state():
    trace = Trace.from_events(events())
    said = evidence.chunks(trace, evidence.View.of(trace))
    assert 'style="width:58.0%"' in said and 'style="left:30.00%"' in said and 'style="left:70.00%"' in said
    assert said.count("decided</span>") == 1 and said.index("decided</span>") < said.index("p. 4")
    assert "? grade failed" in said and "timed out" in said
    waiting = evidence.chunks(Trace.from_events(events()[:3]), evidence.View(upper=0.7, lower=0.3))
    assert waiting.count("waiting…") == 3


def test_web_sources_show_the_query_as_sent_and_open_in_a_new_tab():
    trace = Trace.from_events(events())
    said = evidence.web(trace, evidence.View.of(trace))
    assert '<a href="https://example.org/a" target="_blank" rel="noopener noreferrer">' in said
    assert "2019-05-01" in said and "WEB" in said and f"web {NASTY}" in Inspector(said).said


def test_a_long_page_is_cut_to_what_was_kept_and_the_cited_strip_is_framed():
    sentences = [f"Sentence number {number} of a long page with words." for number in range(400)]
    whole, strips, at = " ".join(sentences), [], 0
    for number, sentence in enumerate(sentences):
        strips.append(strip("w1", "external", at, sentence, 0.9 if number in (200, 300) else 0.1, number in (200, 300)))
        at += len(sentence) + 1
    said = draw_surroundings(Passage(text=whole, strips=strips, cited=strips[200].id), View(upper=0.7, lower=0.3))
    assert said.count("<mark") == 2 and said.count('class="cited"') == 1 and len(said) < 4000
    assert "number 197 " in said and "number 203 " in said and "number 204 " not in said and "number 196 " not in said
    none = draw_surroundings(Passage(text=whole), View(upper=0.7, lower=0.3))
    assert "Sentence number 0" in none and len(none) < 3500


def test_an_address_that_is_no_web_address_is_only_text():
    trace = Trace.from_events(events())
    search = trace.searches[0]
    page = replace(search.pages[0], url="javascript:alert(1)")
    trace = replace(trace, searches=(replace(search, pages=(page,)),))
    seen = Inspector(evidence.web(trace, evidence.View.of(trace)))
    assert "a" not in seen.tags and "javascript:alert(1)" in seen.said


def test_citations_are_buttons_and_only_known_ones():
    said = answer.answer(Trace.from_events(events()))
    assert 'data-pick="cite:1"' in said and 'class="cite web" data-pick="cite:2"' in said
    assert 'data-pick="cite:9"' not in said and "[9]" in said
    assert "Faithfulness" not in said


def short_answered(text: str, **of_a_cell: str) -> Trace:
    """The whole run with words of its answer told first."""
    trace = Trace.from_events(events())
    assert trace.answer is not None
    place = {"citation": 2, "source_id": "w1", "strip_id": "w1:0", "start": 0, "end": 4}
    short = ShortAnswer(text=text, confidence=0.83, **place, **of_a_cell)
    return replace(trace, answer=replace(trace.answer, short=short))


def test_the_words_that_answer_stand_large_above_and_are_marked_in_the_sentence_that_cites_their_source():
    trace = short_answered("else")
    said = answer.answer(trace)
    assert said.index('<span class="words">else <span class="keep"><button class="cite web"') < said.index(
        "Kept words."
    )
    assert said.count('<span class="tag web">WEB</span>') == 1  # that it is of the web
    assert 'Something <span class="answering">else</span>' in said
    assert said.count('class="answering"') == 1 and "Evaluator confidence: 83%" in said
    assert answer.find_short(short_answered("words").answer) is None  # they stand in a sentence of another source
    assert not Inspector(said).open


def test_a_cell_is_drawn_under_its_row_and_column():
    said = answer.answer(short_answered(NASTY, row="Net sales", column="2018", scale="million"))
    assert '<span class="cell">Net sales, 2018</span>' in said and " million " in said
    assert "img" not in Inspector(said).tags


def test_failures_and_stops_are_told():
    start = events()[:5]
    failed = Trace.from_events(
        [*start, ev.Failed(step="evaluate", cause="It broke.", remedy="Do this.", fatal=True, at=1)]
    )
    assert "It broke." in path.action(failed) and "Do this." in path.action(failed)
    assert '<li class="failed">Evaluate' in path.path(failed)
    stopped = Trace.from_events([*start, ev.Cancelled(at=1), ev.RunFinished(at=1)])
    assert "Stopped" in path.action(stopped) and '<li class="stopped">Evaluate' in path.path(stopped)


def test_only_the_exports_own_script_may_run():
    made = pages.page(Trace.from_events(events()), events())
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", made, re.DOTALL)
    assert [about for about, _ in scripts] == [' type="application/json" class="states"', "", ""]
    first, second = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for _, text in scripts[1:])
    assert f"script-src 'sha256-{first}' 'sha256-{second}';" in made and not re.search(r"script-src[^;]*unsafe", made)
    assert "<" not in scripts[0][1]


def test_replayed_states_begin_with_the_run_and_end_with_the_whole():
    trace = Trace.from_events(events())
    made = json.loads(pages.states(trace, events()))
    drawn = ["".join(made["pieces"][id] for part in frame["parts"] for id in part) for frame in made["frames"]]
    assert drawn[-1] == "".join(pages.sections(trace)) and len(drawn) > 15
    assert all(one != other for one, other in itertools.pairwise(drawn)), "a moment that changes nothing is none"
    assert drawn[0] == "".join(pages.sections(Trace.from_events(events()[:1])))
    assert len(set(made["pieces"])) == len(made["pieces"])
    assert [frame["at"] for frame in made["frames"]] == sorted(frame["at"] for frame in made["frames"])


@pytest.mark.parametrize("share", [0.9, 0.6, 0.3])
def test_a_run_too_long_skips_moments_but_never_its_end(share):
    trace = Trace.from_events(events())
    whole = pages.states(trace, events())
    budget = int(share * len(whole.encode()))
    less = pages.states(trace, events(), budget)
    assert len(less.encode()) <= budget
    frames = json.loads(less)["frames"]
    if share > 0.5:
        assert frames[-1]["said"] == "the whole run" and len(frames) < len(json.loads(whole)["frames"])


def test_how_a_run_ended_is_announced_by_its_state_and_a_sentence_without_marks():
    over = Trace.from_events(events())
    told = answer.announcement(over)
    assert told.startswith("Answered: ") and "[1]" not in told
    stopped = answer.announcement(replace(over, answer=None, cancelled=True))
    assert stopped.startswith("Stopped.")
    none = Answer(text="Not said. Nothing near it.", by="extractive", abstained=True)
    assert answer.announcement(replace(over, answer=none)) == "Not found: Not said."
    assert "data-announce" not in answer.question(over), "only in the tab that asked"
    assert Inspector(answer.question(over, announced=True)).open == []
    assert "data-announce" not in answer.question(Trace.from_events(events()[:6]), announced=True), "it is not over"
