"""Sentences about an answer: its checks, its remarks, what helps where there is none, and where it was asked."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from crag.core.model_ids import about, name_in_sentence
from crag.core.protocols import OWN
from crag.core.trace import Outcome, Trace
from crag.core.types import Answer, Calculation, Citation, Doubt, FigureCheck, Judgement, SentenceCheck
from crag.messages.wording import failure_sentence, recognised_text, web_origin
from crag.text.formats import count, join_names

Fault = Literal["", "nothing shown", "invented citation", "not checked", "unsupported"]
"""What is wrong with a sentence of an answer: nothing that it could rest on supports it; it cites what is no source;
the check came to nothing; what it cites does not support it. Empty: nothing, or it claims nothing."""

FOUND = "found afterwards"
"""Said of the source of a sentence that cites nothing."""
NOTHING_SHOWN = "nothing shown supports this"
"""Said of a sentence without a citation that no strip supports which its writer was shown."""
FAULTS: dict[Fault, str] = {
    "": "",
    "nothing shown": NOTHING_SHOWN,
    "invented citation": "its citation matches no source",
    "not checked": "not checked",
    "unsupported": "not supported by its sources",
}
STATES: dict[Outcome, str] = {
    "answered": "Answered",
    "web": "From the web",
    "check": "Check this",
    "not found": "Not found",
    "overview": "Overview",
    "no answer": "No answer",
    "handed over": "Handed over",
    "failed": "Failed",
    "stopped": "Stopped",
    "": "–",
}
"""How a run ended, in plain words."""

_JUDGES = {"words": "the words", "figures": "the figures", "evaluator": "the local evaluator", "model": "the model"}


_DOUBTS: dict[Doubt, str] = {
    "no answer": "the language model found no answer, and the closest passage is quoted",
    "not relevant": "no passage of your documents was judged to answer, and nothing from the web helps",
    "several": "several rows fit and give different values: name the segment, statement or period",
    "other row": "the closest match is quoted, which may be another than you asked for",
    "no figure": "you asked for a figure, and the quote has none",
    "opposite": "the quote says the opposite of a word of your question",
    "no period": "no table found has the period that you asked for",
    "empty": "the form leaves empty what you asked for",
    "contradicts": "a table gives another amount",
    "not graded": "nothing that it rests on could be judged",
    "weak": "the passages fit only in part",
}
"""What is to be checked of an answer: a part of a sentence. Of the others it depends on the run."""
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")


def standing_text(trace: Trace) -> str:
    """Where a run's answer stands and how sure it is, or what is to be checked of it; nothing of no answer."""
    answer = trace.answer
    if answer is None or answer.abstained:
        return ""
    where = answer.citations[0].where if answer.citations else ""
    if answer.doubts:
        return f"{'; '.join(_doubt_text(each, trace) for each in answer.doubts)}{where and f' ({where})'}"
    sure = "" if answer.confidence is None else f"{answer.confidence:.0%} sure"
    return ", ".join(filter(None, (where, sure)))


def state_text(trace: Trace) -> str:
    """A run's state and what it stands on: "Answered: page 4, 82% sure", "Check this: nothing found names Oslo"."""
    return ": ".join(filter(None, (STATES[trace.outcome], standing_text(trace))))


def _doubt_text(doubt: Doubt, trace: Trace) -> str:
    answer = trace.answer
    assert answer is not None
    match doubt:
        case "unsupported":
            return _unsupported_text(trace.checks)
        case "unnamed":
            return f"nothing found names {join_names(answer.unnamed, 'or')}"
        case "unsure":
            return f"only {answer.confidence:.0%} sure"
        case "several" if answer.differing:
            return "the documents give different values"
        case "no period" if (asked := _YEAR.findall(trace.meant)) and answer.citations:
            found = [each for each in _YEAR.findall(answer.citations[0].quote) if each not in asked]
            return f"it is of {found[0]}, and you asked for {asked[0]}" if found else _DOUBTS[doubt]
        case _:
            return _DOUBTS[doubt]


def brief_text(answer: Answer) -> str:
    """The few words that answer; of a result also how it was worked out. Empty where there are none."""
    if answer.calculation is None:
        return answer.brief
    return f"{answer.calculation.result} ({calculation_text(answer.calculation)})"


def calculation_text(calculation: Calculation) -> str:
    """That a result was worked out, from how many cells, and how: a part of a sentence."""
    return f"worked out from {count(len(calculation.cells), 'cell')}: {calculation.written}"


def _unsupported_text(checks: Sequence[SentenceCheck]) -> str:
    """How many sentences of a written answer nothing supports, and what to check."""
    failed = [check for check in checks if check.supported is False]
    checked = count(sum(check.supported is not None for check in checks), "sentence")
    missing = dict.fromkeys(figure.text for figure in remarkable(failed)) or [f"“{each.sentence}”" for each in failed]
    return f"nothing found supports {len(failed)} of {checked}: {join_names([*missing][:3])}"


def fault_of(check: SentenceCheck, known: Collection[int]) -> Fault:
    """What is wrong with a sentence; `known` are the numbers that stand for a source."""
    if check.supported or (check.supported is None and not check.note):
        return ""
    if check.note == "nothing shown":
        return "nothing shown"
    if any(number not in known for number in check.citations):
        return "invented citation"
    return "not checked" if check.supported is None else "unsupported"


def check_sentence(check: SentenceCheck) -> str:
    """How it was found whether a sentence is supported: a part of a sentence, without its full stop."""
    if check.note == "invented":
        return f"{', '.join(f'[{number}]' for number in check.invented)} stands for no cited text"
    if check.note == "not scored":
        return f"not scored: {about(check.why, check.who)}"
    said = {"scored": "", "nothing shown": NOTHING_SHOWN, "figures": _figures(check)}.get(check.note, check.note)
    judged = _format_judgements(check.judgements) if check.note != "quoted" else ""
    return "; ".join(filter(None, (marks_text(check), said, judged)))


def marks_text(check: SentenceCheck) -> str:
    """Which marks of a sentence its check took out, and where it found it; empty where it keeps what it has."""
    taken, stands = (join_names([f"[{number}]" for number in each]) for each in (check.dropped, check.citations))
    if check.attributed:
        return f"cited {taken}, stands in {stands}" if taken else FOUND
    return f"{taken} taken out" if taken else ""


def flag_text(check: SentenceCheck, known: Collection[int]) -> str:
    """What is wrong with a sentence of an answer, in a few words; empty where nothing is. `known` as in `fault_of`."""
    missing = ", ".join(figure.text for figure in check.figures if figure.state == "missing")
    fault = fault_of(check, known)
    return f"not in its sources: {missing}" if missing and fault == "unsupported" else FAULTS[fault]


def footnote_notes(citation: Citation) -> list[str]:
    """What a reader should know of a citation, besides its place."""
    notes = [web_origin(citation.from_web)] if citation.from_web else []
    return [*notes, *filter(None, [recognised_text(citation.recognised)])]


def objection_sentence(check: SentenceCheck) -> str:
    """Which judges see it otherwise than it was decided; empty where none does."""
    objecting = [_format_judge(each) for each in check.objecting]
    if not objecting:
        return ""
    says = "says that it is" if len(objecting) == 1 else "say that it is"
    return f"{join_names(objecting)} {says} {'not supported' if check.supported else 'supported'}"


def _figures(check: SentenceCheck) -> str:
    missing = [f"“{each.text}”" for each in check.figures if each.state == "missing"]
    return f"{join_names(missing)} {'stands' if len(missing) == 1 else 'stand'} in nothing that it cites"


def _format_judgements(judgements: Sequence[Judgement]) -> str:
    """Who is for it, who is against it, and who could not tell since it failed; the share of words that are there."""
    sides = {True: "supported, say", False: "not supported, say"}
    parts = [
        f"{said} {join_names([_format_judge(each) for each in judgements if each.supported is side])}"
        for side, said in sides.items()
        if any(each.supported is side for each in judgements)
    ]
    parts += [
        f"{join_names([_JUDGES[each.judge]])} could not tell: {about(each.why, each.who)}"
        for each in judgements
        if each.why
    ]
    return "; ".join(parts)


def _format_judge(judgement: Judgement) -> str:
    """A judge with its score, as "the local evaluator (0.83)"."""
    who = name_in_sentence(judgement.by) if judgement.judge == "model" and judgement.by else _JUDGES[judgement.judge]
    return who if judgement.score is None else f"{who} ({judgement.score:.2f})"


def remarkable(checks: Sequence[SentenceCheck]) -> list[FigureCheck]:
    """The figures of all sentences that do not stand in what is cited, in order."""
    return [figure for check in checks for figure in check.figures if figure.state != "stands"]


def figure_sentence(figure: FigureCheck) -> str:
    """That a figure stands nowhere; empty where it stands. Without the full stop."""
    if figure.state == "stands":
        return ""
    said = f"“{figure.text}”" if figure.kind == "name" else figure.text
    return f"{said} does not stand in the source"


def differing_sentence(answer: Answer) -> str:
    """What each document gives for the cell that is asked for, with its number; empty where they give one value."""
    names = {each.number: each.source for each in answer.citations}
    values = [
        f"{each.value} in {names[each.citation]}{each.dated and f' ({each.dated})'} [{each.citation}]"
        for each in answer.differing
    ]
    return f"Your documents give different values: {'; '.join(values)}." if values else ""


def contradiction_sentence(answer: Answer) -> str:
    """That the table looked up gives another amount than the answer, with its number; else empty."""
    if answer.contradicts is None:
        return ""
    value, number = answer.contradicts.value, answer.contradicts.citation
    cited = next((each for each in answer.citations if each.number == number), None)
    where = f" on {cited.where.replace('page ', 'p. ')}" if cited and cited.where else ""
    return f"The table{where} says {value} [{number}]."


def conflict_sentences(answer: Answer) -> list[str]:
    """What speaks against an answer: the table looked up, where it says otherwise, and documents that differ."""
    return [*filter(None, (contradiction_sentence(answer), differing_sentence(answer)))]


def nearest_sentence(trace: Trace) -> str:
    """The passage that came nearest; empty where the documents gave an answer, or none came near."""
    quoted = trace.answer is not None and any(each.origin == "internal" for each in trace.answer.citations)
    if quoted or trace.guidance is None or not trace.guidance.near:
        return ""
    near = trace.guidance.near[0]
    return f"The closest is in {', '.join(filter(None, (near.source, near.where)))}: “{near.quote}”"


def web_text(trace: Trace, *, on: bool) -> str:
    """What became of the web, or how it comes in; the query stands beside it. `on`: whether a provider is on."""
    if trace.searches:
        return "It was searched, and nothing found there answers. The query was:"
    if not on:
        return "Web search is off. Choose a provider in Settings (--web on the command line). The query would be:"
    if any(approval.approved is False for approval in trace.approvals):
        return "It was not searched, because you did not approve the query:"
    if any(failure.step == "search" for failure in trace.failures):
        return "The search failed. It can be tried again, with the query:"
    return "It was not searched. The query would be:"


FAR = "which can't be searched again from here"
"""Of another store than the library."""

_ORIGINS = {
    "agent": ("agent", "through an agent", "the agent that asked"),
    "mcp": ("MCP", "through MCP", "the program that asked through MCP"),
    "http": ("HTTP", "through HTTP", "the program that asked through HTTP"),
    "cli": ("command line", "from the command line", "the person who asked"),
    "python": ("Python", "from Python", "the program that asked"),
}
"""Of each way: a word, a part of a sentence, and who it was that asked."""
_QUOTES = str.maketrans("“”", '""')
"""In a name: they would end it where it does not end."""
_UNKNOWN = ("another program", "through another program", "the program that asked")


def origin_word(via: str) -> str:
    """How a run came in, in a word or two; empty for the app's own."""
    return "" if via in OWN else _ORIGINS.get(via, _UNKNOWN)[0]


def origin_text(via: str, client: str = "") -> str:
    """The same as a part of a sentence, with what the program calls itself: "through MCP (calls itself “notes”)"."""
    if via in OWN:
        return ""
    said = _ORIGINS.get(via, _UNKNOWN)[1]
    return f"{said} (calls itself “{client.translate(_QUOTES)}”)" if client else said


def origins_text(vias: Iterable[str]) -> str:
    """The ways in which several runs came in, each once: "through an agent and from Python". Nothing of the app's."""
    said = list(dict.fromkeys(filter(None, map(origin_text, vias))))
    return join_names(said)


def handed_sentence(trace: Trace) -> str:
    """That the evidence of a run was handed to who asked, for its own answer; empty of any other run."""
    if not trace.handed_over:
        return ""
    who = _ORIGINS.get(trace.via, _UNKNOWN)[2]
    if not trace.kept():
        return f"Nothing found was good enough to be handed to {who}, which writes the answer itself."
    return f"The evidence was handed to {who}, which writes the answer itself."


def ending_sentence(trace: Trace) -> str:
    """Why a run that is over has no answer, and what to do."""
    if trace.cancelled:
        return "Stopped. What was found until then is kept."
    if trace.failure:
        return f"{failure_sentence(trace.failure)} {trace.failure.remedy}".strip()
    return handed_sentence(trace) or "The run ended without an answer."


def lacking_sentence(trace: Trace) -> str:
    """What can't be had from here of a run that searched another store; empty of one that searched the library."""
    if not trace.elsewhere:
        return ""
    return f"This run searched another store than the library, {FAR}."
