"""What is said first of an answer: where it is quoted from, how likely it is right, or that there is none."""

from dataclasses import replace

import pytest

from crag.core.trace import Round, Trace
from crag.core.types import Action, Answer, Citation, Decision, FigureCheck, SentenceCheck, Strip
from crag.messages.answers import LOW_CONFIDENCE, NOT_FOUND, confidence_text, low_confidence_sentence, weakness_text

CITED = Citation(number=1, strip_id="s", source_id="c", origin="internal", source="a.pdf", quote="q", page=57)
WEB = replace(CITED, origin="external", page=None, url="https://example.org")
SURE = Answer(text="It is so [1].", by="extractive", citations=(CITED,), confidence=0.834)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (SURE, "Quoted from p. 57 · confidence 0.83"),
        (replace(SURE, confidence=None), "Quoted from p. 57"),
        (replace(SURE, citations=(replace(CITED, place="slide 3"),)), "Quoted from slide 3 · confidence 0.83"),
        (replace(SURE, citations=(WEB,)), "Quoted from the web · confidence 0.83"),
        (replace(SURE, confidence=0.35, low_confidence=True), f"{LOW_CONFIDENCE} 0.35 · quoted from p. 57"),
        (replace(SURE, abstained=True, citations=(), low_confidence=True), NOT_FOUND),
        (replace(SURE, by="a model", confidence=None), ""),
        (replace(SURE, by="a model"), "Confidence 0.83"),
        (replace(SURE, by="a model", confidence=0.5, low_confidence=True), f"{LOW_CONFIDENCE} 0.50"),
    ],
)
def test_an_answer_has_its_source_and_its_confidence(answer: Answer, said: str) -> None:
    assert confidence_text(run(answer)) == said
    assert weakness_text(run(answer)) == ""


def run(answer: Answer, action: Action = Action.AMBIGUOUS) -> Trace:
    strip = Strip(id="s", source_id="c", origin="internal", start=0, end=1, text="q", score=0.7, kept=True)
    decided = Decision(action=action, deciding_id="c", score=0.5, upper=0.6, lower=0.2, aggregation="max", graded=1)
    return Trace(answer=answer, strips={"c": (strip,)}, rounds=(Round(query="q", decision=decided),))


@pytest.mark.parametrize(
    ("answer", "action", "why"),
    [
        ({"unnamed": ("Oslo",)}, Action.AMBIGUOUS, "Nothing found names Oslo."),
        ({"lookup": "no period"}, Action.AMBIGUOUS, "no table found has the period that is asked for"),
        ({}, Action.INCORRECT, "the chunks were graded as not answering, and nothing from the web helps"),
        (
            {"lookup": "found"},
            Action.INCORRECT,
            "the chunks were graded as not answering, and only a table row names what is asked for",
        ),
        ({"confidence": None}, Action.AMBIGUOUS, "the best text that it rests on was scored below the upper threshold"),
    ],
)
def test_a_high_confidence_is_not_shown_where_another_reason_makes_it_low(answer, action, why) -> None:
    trace = run(replace(SURE, low_confidence=True, **answer), action)
    assert weakness_text(trace) == why
    assert confidence_text(trace) == f"{LOW_CONFIDENCE} · quoted from p. 57"
    also = "" if "unnamed" in answer else f"; {why}"
    assert low_confidence_sentence(trace) == f"{LOW_CONFIDENCE} · quoted from p. 57{also}. Check the cited pages."


def test_a_written_answer_that_nothing_found_supports_says_what_to_check() -> None:
    missing = FigureCheck(start=7, end=18, text="7.9 percent", kind="number", state="missing")
    wrong = SentenceCheck(sentence="It was 7.9 percent.", citations=(1,), supported=False, figures=(missing,))
    good = SentenceCheck(sentence="It is so.", citations=(1,), supported=True)
    written = replace(SURE, by="a model", low_confidence=True)
    said = weakness_text(replace(run(written), checks=(good, wrong)))
    assert said == "nothing found supports 1 of 2 sentences: check 7.9 percent"
    silent = replace(SURE, instead_of="a model", remarks=("no answer",), low_confidence=True)
    assert "the language model found no answer" in low_confidence_sentence(run(silent))
