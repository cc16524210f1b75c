"""What the check of an answer's sentences found, as words: for screen, shell and export alike.

A judge is named by its id, or as `name` makes of that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Literal

from crag.core.types import Judgement, SentenceCheck
from crag.messages.wording import about, count

__all__ = [
    *("FOUND", "Fault", "NOTHING_SHOWN", "attributed_sentence", "check_sentence", "fault_of", "objection_sentence"),
]

Name = Callable[[str], str]

Fault = Literal["", "nothing shown", "no citation", "invented citation", "not checked", "unsupported"]
"""What is wrong with a sentence of an answer: nothing that it could rest on supports it; it names no source (told of
runs of earlier builds alone); it cites what is no source; the check came to nothing; what it cites does not support it.
Empty: nothing, or it claims nothing."""

FOUND = "found afterwards"
"""Said of a citation that the answer did not make."""
NOTHING_SHOWN = "nothing shown supports this"
"""Said of a sentence without a citation that no strip supports which its writer was shown."""

_JUDGES = {"words": "the words", "figures": "the figures", "evaluator": "the local evaluator", "model": "the model"}


def fault_of(check: SentenceCheck, known: Collection[int]) -> Fault:
    """What is wrong with a sentence; `known` are the numbers that stand for a source."""
    if check.supported or (check.supported is None and not check.note):
        return ""
    if check.note == "nothing shown":
        return "nothing shown"
    if check.note == "no citation":
        return "no citation"
    if any(number not in known for number in check.citations):
        return "invented citation"
    return "not checked" if check.supported is None else "unsupported"


def check_sentence(check: SentenceCheck, name: Name = str) -> str:
    """How it was found whether a sentence is supported: a part of a sentence, without its full stop."""
    if check.note == "invented":
        return f"{', '.join(f'[{number}]' for number in check.invented)} stands for no cited text"
    if check.note == "not scored":
        return f"not scored: {about(check.why, check.who, name)}"
    if check.note == "scored" and not check.judgements:
        return f"scored by {name(check.by)}"
    said = {"scored": "", "nothing shown": NOTHING_SHOWN, "figures": _figures(check)}.get(check.note, check.note)
    judged = _format_judgements(check.judgements, name) if check.note != "quoted" else ""
    return "; ".join(filter(None, (f"{FOUND}, {said}".rstrip(", ") if check.attributed else said, judged)))


def objection_sentence(check: SentenceCheck, name: Name = str) -> str:
    """Which judges see it otherwise than it was decided; empty where none does."""
    objecting = [_format_judge(each, name) for each in check.objecting]
    if not objecting:
        return ""
    says = "says that it is" if len(objecting) == 1 else "say that it is"
    return f"{_join_names(objecting)} {says} {'not supported' if check.supported else 'supported'}"


def attributed_sentence(checks: Sequence[SentenceCheck]) -> str:
    """How many sentences cited nothing and what came of them; empty where each cites or claims nothing."""
    found = sum(check.attributed for check in checks)
    nothing = sum(check.note == "nothing shown" for check in checks)
    parts = []
    if found:
        its = "its source was" if found == 1 else "their sources were"
        parts.append(f"{count(found, 'sentence')} cited nothing: {its} {FOUND}")
    if nothing:
        cites, them = ("cites", "it") if nothing == 1 else ("cite", "them")
        parts.append(f"{count(nothing, 'sentence')} {cites} nothing, and nothing shown supports {them}")
    return "; ".join(parts)


def _figures(check: SentenceCheck) -> str:
    missing = [f"“{each.text}”" for each in check.figures if each.state == "missing"]
    return f"{_join_names(missing)} {'stands' if len(missing) == 1 else 'stand'} in nothing that it cites"


def _format_judgements(judgements: Sequence[Judgement], name: Name) -> str:
    """Who is for it, who is against it, and who could not tell since it failed; the share of words that are there."""
    sides = {True: "supported, say", False: "not supported, say"}
    parts = [
        f"{said} {_join_names([_format_judge(each, name) for each in judgements if each.supported is side])}"
        for side, said in sides.items()
        if any(each.supported is side for each in judgements)
    ]
    parts += [
        f"{_join_names([_JUDGES[each.judge]])} could not tell: {about(each.why, each.who, name)}"
        for each in judgements
        if each.why
    ]
    return "; ".join(parts)


def _format_judge(judgement: Judgement, name: Name) -> str:
    """A judge with its score, as "the local evaluator (0.83)"."""
    who = name(judgement.by) if judgement.judge == "model" and judgement.by else _JUDGES[judgement.judge]
    return who if judgement.score is None else f"{who} ({judgement.score:.2f})"


def _join_names(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
