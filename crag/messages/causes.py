"""Sentences about what a score rests on, about a run without some of its texts, and about what changes its action."""

from __future__ import annotations

from collections.abc import Sequence

from crag.analysis.causes import AnswerWithout, GradeExplanation, NoAnswer, Occlusion, OtherRun, Unexplained
from crag.analysis.whatif.whatif import Move, Without
from crag.core.fields import meta
from crag.core.makers import name_in_sentence
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import Answer, Chunk, Citation, GradePart
from crag.messages.misses import setting_text
from crag.messages.tuning import unknown_sentence
from crag.messages.wording import decision_sentence
from crag.text.formats import count, format_score, join_names

LEAST = 0.01
"""The least change of a score that is worth a sentence."""

_SETTINGS = 6
"""Settings that are named at most."""

_REASONS: dict[Unexplained, str] = {
    "": "",
    "not graded": "The run did not grade this chunk, so there is no score to explain.",
    "together": "The run graded all its chunks in one grade, so no chunk has a score of its own.",
    "failed": "The grade of this chunk failed, so there is no score to explain.",
    "model": "It was graded by {who}. Each word or sentence left out would be one more call, so none is left out.",
    "other": "It was graded by {who}, which is not the evaluator in use. Ask again to see a score explained.",
}
_NO_ANSWER: dict[NoAnswer, str] = {
    "": "",
    "no answer": "The run has no answer.",
    "written": "A language model wrote the answer, so only a new run can show another one.",
    "decision": "The answer is unknown, as the action is.",
    "evidence": "The answer needs a new run: this one did not score the strips that would be used.",
    "web": "The answer needs a new run, which would search the web.",
}
_PARTS = {
    "relevance": "How far the text answers, as the model reads it",
    "span": "How clear the place of the answer is",
    "length": "Length of the text",
    "coverage": "Share of the question's words in the text",
    "closeness": "Closeness in meaning",
    "bias": "Starting point",
}


def place_text(text: Chunk | Citation) -> str:
    """Where a text stands, as "page 4 of report.pdf"."""
    return f"{text.where} of {text.source}" if text.where else text.source


def grade_sentences(found: GradeExplanation) -> list[str]:
    """What the score rests on: first the score itself, then what counts most for and against it."""
    if found.score is None or found.verdict is None:
        return [_REASONS[found.reason]]
    score = format_score(found.score, found.upper, found.lower)
    said = [f"This chunk, {place_text(found.chunk)}, scores {score}: {found.verdict} by itself."]
    if found.reason:
        who = name_in_sentence(found.grade.evaluator) if found.grade is not None else ""
        return [*said, _REASONS[found.reason].format(who=who)]
    said += _counting(found, "word", found.question, found.words)
    said += _counting(found, "sentence", found.chunk.text, found.sentences)
    if found.untitled is not None and abs(found.untitled - found.score) >= LEAST:
        said.append(f"Without the title and heading that are read with it, it would score {found.untitled:.2f}.")
    return said


def part_text(part: GradePart) -> str:
    """What a layer of a score is called; one of another evaluator by its own name."""
    return _PARTS.get(part.name, part.name)


def _counting(found: GradeExplanation, part: str, text: str, occluded: Sequence[Occlusion]) -> list[str]:
    """The part without which the score falls most, and the one without which it rises most."""
    scored = [(each.score, each) for each in occluded if each.score is not None]
    if not scored or found.score is None:
        return []
    (low, least), (high, most) = min(scored, key=lambda each: each[0]), max(scored, key=lambda each: each[0])
    said = []
    if found.score - low >= LEAST:
        said.append(f"The {part} {_quote(text, least)} counts most: without it the score would be {low:.2f}.")
    if high - found.score >= LEAST:
        said.append(f"The {part} {_quote(text, most)} counts against it: without it the score would be {high:.2f}.")
    return said or [f"No single {part} changes the score by {LEAST} or more."]


def _quote(text: str, occlusion: Occlusion) -> str:
    start, end = occlusion.spans[0]
    words = " ".join(text[start:end].split())
    return f"“{words if len(words) <= 80 else words[:79].rstrip() + '…'}”"


def untried_sentence(found: GradeExplanation) -> str:
    """What was not left out, of a long question or text or of one that has too little; empty where all was."""
    if found.reason:
        return ""
    parts = (
        ("question", "content word", found.words, found.more_words),
        ("chunk", "sentence", found.sentences, found.more_sentences),
    )
    few = [
        f"The {whole} has {'one' if more else 'no'} {part}, so none is left out."
        for whole, part, tried, more in parts
        if not tried
    ]
    left = [count(more, part) for _, part, tried, more in parts if more and tried]
    return " ".join([*few, f"Not tried: {join_names(left)}."] if left else few)


def other_text_sentence(found: GradeExplanation) -> str:
    """The nearest text with another verdict, or how many texts were compared in vain."""
    if found.verdict is None:
        return ""
    if found.other is None:
        compared = count(found.compared, "text")
        return f"None of the {compared} compared got another verdict." if found.compared else ""
    other = found.other
    score = format_score(other.grade.score or 0.0, found.upper, found.lower)
    where = "in this run" if other.retrieved else "in your library"
    return (
        f"The nearest text {where} with another verdict: {place_text(other.chunk)} scores {score}, {other.verdict} "
        f"(closeness {other.closeness:.2f})."
    )


def without_sentences(without: Without, answer: AnswerWithout) -> list[str]:
    """The action without the texts left out, and what only a new run can show."""
    what = without.what
    if what.decision is None:
        lead = "The action is unknown." if what.unknown else "Plain RAG takes no action."
    elif what.changes_action:
        lead = f"{what.before} becomes {decision_sentence(what.decision)}"
    else:
        lead = f"Still {decision_sentence(what.decision)}"
    said = [lead]
    if answer.answer is None:
        said += filter(None, (*map(unknown_sentence, what.unknown), _NO_ANSWER[answer.reason]))
    if without.searches_again:
        said.append(
            "Before that, the library would be searched again with a rewritten query. What this finds needs a new run."
        )
    return said


def citations_sentence(answer: Answer) -> str:
    """What an answer cites; empty of nothing."""
    cited = [f"[{each.number}] {place_text(each)}" for each in answer.citations]
    low = " Low confidence." if answer.low_confidence else ""
    return f"It cites {join_names(cited)}.{low}" if cited else ""


def move_sentence(move: Move) -> str:
    """The action after a move of a threshold."""
    settings = join_names([setting_text(name, f"{value:.2f}") for name, value in move.settings.items()])
    again = ", after another search of the library with a rewritten query" if move.searches_again else ""
    return f"With {settings} instead of {move.before:.2f} the action is {move.decision.action}{again}."


def moves_sentence(trace: Trace, moves: Sequence[Move]) -> str:
    """Why no threshold changes the action; empty where one does."""
    if moves:
        return ""
    if trace.action is None:
        return "The run took no action that a threshold could change."
    if Settings.stored(trace.settings).settings.forced:
        return "The action was forced, so no threshold changes it."
    return "No move of one threshold alone changes the action."


def other_run_sentence(found: OtherRun | None) -> str:
    """The nearest run that ended otherwise, and how near its question is."""
    if found is None:
        return "No stored run ended in another action."
    decision, asked = found.trace.decision, found.trace.meant
    asked = asked if len(asked) <= 120 else asked[:119].rstrip() + "…"
    scored = ""
    if decision is not None and decision.score is not None:
        scored = f" with a score of {format_score(decision.score, decision.upper, decision.lower)}"
    near = "the same question" if found.closeness == 1 else f"closeness {found.closeness:.2f}"
    like = "" if found.is_like else " Its question asks for something else."
    return f"The nearest run with another action: “{asked}” ({near}) ended {found.action}{scored}.{like}"


def settings_sentence(found: OtherRun) -> str:
    """The settings that differ, of many the first; empty where none does."""
    if not found.settings:
        return ""
    pairs = list(found.settings.items())
    parts = [f"“{meta(Settings, name)['label']}” ({_value(here)}, {_value(there)})" for name, (here, there) in pairs]
    more = [f"{len(parts) - _SETTINGS} more"] if len(parts) > _SETTINGS else []
    return f"Settings that differ (here, there): {join_names([*parts[:_SETTINGS], *more])}."


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return join_names([str(each) for each in value]) or "none"
    return str(value) if value != "" else "none"


def flip_sentences(trace: Trace, moves: Sequence[Move], other: OtherRun | None) -> list[str]:
    """The moves, or why there is none; then the other run and its settings."""
    said = [*map(move_sentence, moves), moves_sentence(trace, moves), other_run_sentence(other)]
    return list(filter(None, [*said, settings_sentence(other) if other is not None else ""]))
