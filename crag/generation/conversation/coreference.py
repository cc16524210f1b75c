"""What the pronouns of a follow-up stand for, put in their place."""

from __future__ import annotations

import re
from collections.abc import Sequence

from crag.core.exchanges import Exchange
from crag.generation.conversation.periods import periods
from crag.generation.conversation.phrases import Name, lead, names, nominal, sentence, topic

_PERSON = re.compile(r"\b(he|she|him|his|her|hers)\b", re.IGNORECASE)
_OWNING = re.compile(r"\b(its|their|theirs)\b", re.IGNORECASE)
_THING = re.compile(
    r"\b(it|they|them)\b|(?<=\w )\b(that|this|those|these)\b(?! (?:year|question)\b)"
    r"|(?<=\w )\b(?:this|that|the) (company|firm|agency|amount|figure|number)\b",
    re.IGNORECASE,
)
_ROLES = r"pilot|director|president|student|instructor|author|chair\w*|officer|ceo"
_PLURAL = re.compile(r"\b(?:they|them|those|these)\b", re.IGNORECASE)
_THERE = re.compile(r"(?<!were )(?<!are )\bthere$", re.IGNORECASE)
_ACTING = re.compile(
    r"\b(?:does|did|do|has|had|have|will|can) (?:it|they)\b (?!(?:increase|decrease|improve|change|compare|grow|rise"
    r"|fall|drop|happen|take|mean|begin|start|end)\b)|\b(?:its|their)\b"
    r"|\bit (?:headquartered|based|located|incorporated|going)",
    re.IGNORECASE,
)
"""What has, does or is somewhere is somebody, not a figure."""
_NAMED = re.compile(r"(?:the )?[A-Z][\w.&'’-]*(?: (?:of|the|and|&|for|[A-Z][\w.&'’-]*)){0,8}")
_BODY = re.compile(r"\b(?:Board|Commission|Company|Corp\w*|Inc|Office|Agency|Bureau|Council|Department|Group)\b")
_ASKED_PERSON = re.compile(r"^(?:who|which (?:president|person|director|pilot|man|woman)|whose)\b", re.IGNORECASE)
_ASKED_THING = re.compile(r"^(?:what|which) (?!is\b|was\b|are\b|were\b|percent|share|average)\w+", re.IGNORECASE)
_ASKED_WHERE = re.compile(r"^(?:where|(?:in )?(?:what|which) (?:city|state|country|town|place))\b", re.IGNORECASE)


def resolve_pronouns(asked: str, known: Sequence[Exchange]) -> str:
    """The question with its pronouns replaced; with what was asked about beside it where it has none that tell."""
    last = known[-1]
    before, answer = sentence(last.question), last.answer.strip(" .")
    about = topic(before)
    somebody = _somebody(known)
    given = answer if _NAMED.fullmatch(answer) else ""
    text = asked
    body = given and bool(_BODY.search(given))
    if _PERSON.search(text):
        person = given if given and _ASKED_PERSON.match(before) and not body else _role(before) or about
        text = _put(_PERSON, text, person)
        given = "" if person == given else given
    if _THERE.search(text):
        place = given if given and _ASKED_WHERE.match(before) else next((n.text for n in _names(known) if n.place), "")
        text = _THERE.sub(lambda match: f"in {place}", text) if place else _regarding(_THERE.sub("", text), about)
    acting = bool(_ACTING.search(text))
    answered = given if given and (body or (_ASKED_THING.match(before) and not _ASKED_WHERE.match(before))) else ""
    thing = answered or (somebody if acting and somebody else _whole(about, text))
    if _PLURAL.search(text):
        thing = thing.removeprefix("the number of ")
    for form in (_OWNING, _THING):
        text = _put(form, text, thing)
    if text == asked:
        noun = nominal(before) and re.search(r"\bthe [\w-]+(?: [\w-]+){0,3}$", asked)
        text = f"{asked} for {_whole(about, text)}" if noun else _regarding(asked, _whole(about, text))
    return _add_period(text, before) if acting and not answered else text


def _regarding(asked: str, about: str) -> str:
    return f"{asked.strip()}, regarding {about}"


def _whole(about: str, text: str) -> str:
    """The topic, without its period where the question brings its own."""
    found = periods(about)
    if not found or not periods(text):
        return about
    head = about[: found[-1].start].rstrip()
    head = re.sub(r" (?:in|at|as of|for|by|during)(?: the end of)?$", "", head)
    return f"{head}{about[found[-1].end :]}".strip() or about


def _names(known: Sequence[Exchange]) -> list[Name]:
    """Names of the questions, the latest exchange first."""
    return [name for each in reversed(known) for name in reversed(names(sentence(each.question)))]


def _somebody(known: Sequence[Exchange]) -> str:
    """Who or what a question was about, in the latest exchange that names one: not where it was."""
    for each in reversed(known):
        asked = sentence(each.question)
        found = [name for name in names(asked) if not name.place]
        owner = next((name for name in found if asked[name.end : name.end + 2] in ("'s", "’s")), None)
        if found:
            return (owner or found[-1]).text
    return ""


def _role(before: str) -> str:
    """Whom a question is about by what he does: "the pilot of the airplane at Madill"."""
    match = re.search(rf"\bthe (?:{_ROLES})\b.*", before, re.IGNORECASE)
    return match.group().rstrip(" ?") if match else ""


def _put(form: re.Pattern[str], text: str, said: str) -> str:
    """The text with the first pronoun of that form replaced, and others of it by the same words."""
    if not said:
        return text

    def one(match: re.Match[str]) -> str:
        pronoun = match.group().casefold()
        owning = pronoun in ("its", "their", "theirs", "his") or (
            pronoun == "her" and text[match.end() :].strip() != ""
        )
        return f"{said}{'’' if said.endswith('s') else '’s'}".replace("’", "'") if owning else said

    return form.sub(one, text, count=1)


def _add_period(text: str, before: str) -> str:
    """With the period of the question before where an amount is asked for and none is said."""
    when = periods(before)
    if not when or periods(text) or not re.match(r"how (?:much|many)|what", lead(text), re.IGNORECASE):
        return text
    at = re.search(r"(?:at the end of|at|in|as of|during|by) $", before[: when[-1].start])
    return f"{text} {at.group() if at else 'in '}{when[-1].text}"
