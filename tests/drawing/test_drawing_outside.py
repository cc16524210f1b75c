"""What is drawn where outside services take part: every stand-in, failure, query and doubt is said, once."""

import json
import re
from dataclasses import replace

import pytest

from crag.core import events as ev
from crag.core.model_ids import name_in_sentence
from crag.core.trace import Trace
from crag.core.types import Grade, SentenceCheck
from crag.export.html import answer, evidence, pages, path
from crag.messages.wording import outcome_sentence
from tests.support.inspector import Inspector
from tests.support.whole_run import BUSY, GRADER, NASTY, QWEN, approved, asked_outside, refused


def of(events) -> Trace:
    return Trace.from_events(events)


def seen(html: str) -> Inspector:
    found = Inspector(html)
    assert not found.open and "img" not in found.tags
    return found


def chunks(trace: Trace) -> str:
    return evidence.chunks(trace, evidence.View.of(trace))


def web(trace: Trace) -> str:
    return evidence.web(trace, evidence.View.of(trace))


def test_a_grade_made_in_anothers_place_is_marked_and_counted_once():
    trace = of(asked_outside())
    cards = seen(chunks(trace))
    assert cards.said.count("graded locally") == 2
    assert ("title", f"{name_in_sentence(QWEN)} {BUSY}") in cards.attributes
    assert "Names it. Graded by qwen, at 127.0.0.1:8080 (1.2 s)." in cards.said
    said = seen(path.action(trace)).said
    assert said.count("allows no more requests") == 1, "the same failure is not listed again"
    assert "qwen at 127.0.0.1:8080 allows no more requests at present (status 429)." in said
    assert "Evaluate: 2 of 3 grades are the local evaluator's." in said
    assert said.count("Wait.") == 1


def test_a_step_that_was_worked_around_is_neither_done_nor_failed():
    steps = path.path(of(refused()))
    assert (
        '<li class="done fault" title="worked around, 1.0 s">Evaluate<span class="t">with failures</span></li>' in steps
    )
    assert re.search('<li class="done fault"[^>]*>Answer', steps) and '<li class="done">Refine' in steps
    assert '<li class="skipped refused">Search<span class="t">not approved' in steps
    assert "failed" not in steps
    for_good = ev.Failed(step="answer", cause="All broke.", remedy="Wait.", fatal=True, at=5.0)
    failed = path.path(of([*asked_outside(), ev.ApprovalGiven(approved=True, at=5.0), for_good]))
    assert '<li class="failed">Answer' in failed
    no_web = ev.Failed(step="search", cause="Tavily failed.", remedy="Wait.", at=5.0)
    ended = ev.StepFinished(step="search", seconds=1.0, at=5.0)
    failed = path.path(of([*asked_outside(), ev.ApprovalGiven(approved=True, at=5.0), no_web, ended]))
    assert '<li class="failed">Search<span class="t">failed' in failed, "no other provider made up for it"
    searched = approved()
    place = next(number for number, event in enumerate(searched) if isinstance(event, ev.Searched))
    assert re.search(
        '<li class="done fault"[^>]*>Search', path.path(of([*searched[:place], no_web, *searched[place:]]))
    )


def test_why_the_web_was_not_searched_is_said_as_it_was():
    asked = asked_outside()[:-1]
    failed = ev.Failed(step="search", cause="Tavily failed.", remedy="Wait.", at=5.0)
    before = [event for event in asked if not (event.kind == "step_started" and event.step == "search")]
    end = ev.RunFinished(at=6.0)
    assert "The web search failed." in outcome_sentence(of([*asked, failed, end]))
    assert "The web could not be searched." in outcome_sentence(of([*before, failed, end])), "it was never tried"
    assert "web search is off" in outcome_sentence(of([*before, end]))
    assert "web" not in outcome_sentence(of([*asked, ev.Cancelled(at=5.0), end])), "who stops a run knows why"


def test_web_sources_say_what_was_sent_to_whom_and_how_much_was_read():
    said = seen(web(of(approved()))).said
    assert f"Tavily, 2 results forbridge opened {NASTY}" in said
    assert "Sent to Tavily. You approved this query. The query was written by qwen, at 127.0.0.1:8080." in said
    assert "example.org · read in full" in said and "example.org · Tavily's summary only" in said
    assert f"1 problem with these resultsexample.org was not read: it is too large {NASTY}." in said


def test_remembered_results_say_when_they_were_found():
    run = [
        replace(event, found_at="2026-11-21T17:20:09+00:00") if isinstance(event, ev.Searched) else event
        for event in approved()
        if not isinstance(event, ev.ApprovalAsked | ev.ApprovalGiven)
    ]
    said = seen(web(of(run))).said
    assert "Remembered, found 21 Nov 2026 17:20 UTC; nothing was sent this time." in said and "Sent to" not in said
    assert "1 web page remembered from an earlier search" in path.action(of(run))


def test_a_joint_grade_stands_once_above_the_chunks():
    begun = asked_outside()[:4]
    started = replace(begun[0], settings={**begun[0].settings, "evaluator": "joint"})
    waiting = seen(chunks(of([started, *begun[1:]]))).said
    assert "All 3 chunks together" in waiting and waiting.count("waiting…") == 1
    grade = Grade(passage_id="joint", score=0.9, reason="best of 3 passages: names it", evaluator=GRADER)
    said = seen(chunks(of([started, *begun[1:], ev.Graded(grade=grade, joint=True, at=1.0)]))).said
    assert said.count("0.90●") == 1 and "Best of 3 passages: names it. Graded by qwen, at 127.0.0.1:8080" in said


def test_a_streamed_answer_shows_whole_marks_and_holds_back_begun_ones():
    run = approved()
    first = next(number for number, event in enumerate(run) if isinstance(event, ev.Token))
    begun = seen(answer.answer(of(run[: first + 1])))
    assert begun.said == "The bridge was opened in 1890" and "button" not in begun.tags
    more = answer.answer(of(run[: first + 2]))
    assert 'in 1890 <span class="cite">1</span>. It is<span class="cursor">' in more


def test_an_answer_by_a_model_names_it_and_flags_what_was_not_found():
    html = answer.answer(of(approved()))
    found = seen(html)
    assert "Written by qwen, at 127.0.0.1:8080" in found.said
    said = seen(answer.question(of(approved()))).said
    assert "! Check this nothing found supports 2 of 3 sentences: “It is long.”" in said
    for tag in ("unsupported", "invented citation", "not checked"):
        assert found.said.count(tag) == 1
    assert "It is long 2. unsupported" in found.said and "It stands. not checked" in found.said
    assert 'data-pick="cite:9"' not in html and '<span class="invented" title="No such source">[9]</span>' in html
    titles = {value for name, value in found.attributes if name == "title"}
    assert "[9] stands for no cited text." in titles
    assert "No cited text supports this sentence. Score 0.20." in titles


def test_an_answer_that_a_model_could_not_write_says_so_above_it():
    said = seen(answer.answer(of(refused()))).said
    assert "Quoted in place of qwen, at 127.0.0.1:8080" in said
    listed = seen(path.action(of(refused()))).said
    assert "qwen at 127.0.0.1:8080 broke off in the middle.Answer: The best sentences are quoted instead." in listed


@pytest.mark.parametrize(
    ("text", "sentences", "expected"),
    [
        ("Yes [1]. It is.", ["Yes.", "It is."], ["Yes [1].", "It is."]),
        ("Yes. [1][2] It is [1, 3].", ["Yes.", "It is."], ["Yes. [1][2]", "It is [1, 3]."]),
        ("So. So.", ["So.", "So."], ["So.", "So."]),
        ("One\n\ntwo.", ["One two.", "Three."], ["One\n\ntwo."]),
        ("", ["", "Gone."], []),
    ],
)
def test_checked_sentences_are_found_in_the_answer(text, sentences, expected):
    checks = [SentenceCheck(sentence=each, citations=(), supported=None) for each in sentences]
    assert [text[start:end] for start, end, _ in answer.locate_checks(text, checks)] == expected


def test_an_export_replays_the_question_without_its_buttons():
    run = approved()
    made = json.loads(pages.states(of(run), run))
    frames = ["".join(made["pieces"][id] for part in frame["parts"] for id in part) for frame in made["frames"]]
    asking = [frame for frame in frames if "May this query leave this machine?" in frame]
    assert len(asking) == 1 and "<button" not in asking[0].split("May this query")[1].split("</div></div>")[0]
    assert {"asks whether the query may leave", "approved"} <= {frame["said"] for frame in made["frames"]}
    whole = pages.page(of(run), run)
    assert "You approved this query." in whole.split('<script type="application/json"')[0]
