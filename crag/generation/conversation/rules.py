"""A follow-up made to stand alone by rules: names, periods and what was asked for are carried over by form alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

from crag.core.errors import CragError
from crag.core.trace import Trace
from crag.core.types import Carried, Exchange, Sort, Standalone
from crag.generation.conversation.followup_detection import (
    AUXILIARIES,
    EVENT,
    FRAGMENT,
    LACKING,
    OPENED,
    PREPOSITIONS,
    Name,
    asked_for,
    clause,
    follows_on,
    lead,
    names,
    nominal,
    periods,
    replace_last_period,
    resolve_periods,
    sentence,
    topic,
    without_courtesy,
)
from crag.text.words import FUNCTION_WORDS, stem, words

EXCHANGES = 4
"""So many of the latest exchanges are looked at, however long the conversation is."""
QUESTION_CHARS = 500
ANSWER_CHARS = 300


def recent(history: Sequence[Exchange]) -> list[Exchange]:
    """The latest exchanges, oldest first, each cut to its budget."""
    return [
        replace(each, question=each.question[:QUESTION_CHARS], answer=each.answer[:ANSWER_CHARS])
        for each in history[-EXCHANGES:]
        if each.question.strip()
    ]


def leading_to(run_id: str, trace_of: Callable[[str], Trace]) -> list[Exchange]:
    """The exchange of a run and those it followed on, oldest first, as far as they can still be read.

    Runs that failed or were stopped are left out. Raises what `trace_of` raises for the run itself.
    """
    found: list[Exchange] = []
    trace, seen = trace_of(run_id), {run_id}
    while len(found) < EXCHANGES:
        if (said := trace.exchange) is not None:
            found.insert(0, said)
        after = trace.context.after if trace.context else ""
        if not after or after in seen:
            break
        seen.add(after)
        try:
            trace = trace_of(after)
        except CragError:  # deleted since, or unreadable: the conversation begins here
            break
    return found


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
    if not (given or somebody) and not _can_stand(about):
        return _regarding(asked, about)
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


def _can_stand(about: str) -> bool:
    """Whether what was asked about is the name of a thing, which can stand where "it" stood; not a clause."""
    said = about.casefold().split()
    return "," not in about and len(said) <= _MOST_PHRASE and not _CLAUSAL & frozenset(said)


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


_MOST_PHRASE = 12
"""Words of what was asked about that can stand in place of a pronoun."""
_CLAUSAL = AUXILIARIES | frozenset("be i you we me my your it they he she this these those".split())
"""Words that make a clause, or point to something else, in what was asked about."""
_MOST_CHARS = 600
"""What would become longer is asked unchanged."""


class RuleContextualizer:
    """English follow-ups by their form. Needs no model and never fails; where unsure it changes nothing."""

    by = "rules"

    def standalone(self, question: str, history: Sequence[Exchange]) -> Standalone:
        """What is asked in place of `question`: itself, unless it is clearly a follow-up to the last exchanges."""
        known, asked = recent(history), without_courtesy(question)
        if not known or not follows_on(asked):
            return Standalone(question=question)
        made = _complete_question(" ".join(asked.split()).rstrip("?!. "), known)
        made = f"{made[:1].upper()}{made[1:].rstrip('?. ')}?"
        if len(made) > _MOST_CHARS:
            return Standalone(question=question)
        return Standalone(question=made, carried=find_carried(question, made, known))


def exchanges_of(latest: Iterable[tuple[bool, str]]) -> list[Exchange]:
    """The latest exchanges of a chat, oldest first, each question in its standalone form.

    `latest`: the messages, latest first, each with whether it is a question. Of what answers a question, the last text
    counts. Twice as many are read as are returned: the first that is returned may itself be a follow-up.
    """
    asked: list[tuple[str, str]] = []
    answer = ""
    for is_question, text in latest:
        if not is_question:
            answer = answer or text
            continue
        asked.append((text[:QUESTION_CHARS].strip(), answer))
        answer = ""
        if len(asked) == 2 * EXCHANGES:
            break
    known: list[Exchange] = []
    for question, answer in reversed(asked):
        known.append(Exchange(question=RuleContextualizer().standalone(question, known).question, answer=answer))
    return known[-EXCHANGES:]


def _complete_question(asked: str, known: Sequence[Exchange]) -> str:
    before = sentence(known[-1].question)
    rest = asked[OPENED.match(asked).end() :]  # type: ignore[union-attr]
    base = next((found[-1].text for each in reversed(known) if (found := periods(each.question))), "")
    if match := EVENT.match(rest):
        return _instead(match.group(1), before)
    rest = resolve_periods(rest, base) if base else rest
    if FRAGMENT.match(rest):
        return _instead(rest, before)
    lacking, span = LACKING.match(rest), asked_for(before)
    if lacking and span and " of " not in lacking.group():
        many = len("how many")
        return f"{rest[:many]} {before[slice(*span)]}{rest[many:]}"
    if clause(rest):
        return resolve_pronouns(rest, known)
    return _swap_phrase(rest, before)


def _instead(fragment: str, before: str) -> str:
    """The earlier question with other words at its beginning: "Why?" of "When was X built?" is "Why was X built?"."""
    asking = lead(before)
    rest = before[len(asking) :].strip(" ?")
    bare = asking.casefold() in ("when", "where", "why", "how", "")
    return f"{fragment} {rest[:1].lower() + rest[1:] if not asking else rest}" if bare else f"{fragment}: {before}"


def _swap_phrase(rest: str, before: str) -> str:
    """The earlier question with the new words in the place of what they are like: a period, a name, a figure."""
    new = periods(rest)
    if new:
        before = replace_last_period(before, new[-1].text)
        at = rest[: new[-1].start].split()
        while at and at[-1].casefold() in {*PREPOSITIONS, "the", "end", "year", "year-end"}:
            at.pop()
        rest = f"{' '.join(at)}{rest[new[-1].end :]}".strip(" ,")
        if not rest:
            return before
    first, _, other = rest.partition(" ")
    if first.casefold() in PREPOSITIONS and other:
        return _swapped_place(first.casefold(), other, before)
    rest = re.sub(r"^(?:its|their|his|her) ", "", rest, flags=re.IGNORECASE)
    if names(rest) or rest[0].isupper() or rest[0].isdigit():
        return _swapped_name(rest, before)
    return _swapped_measure(rest, before)


def _swapped_place(preposition: str, said: str, before: str) -> str:
    """What follows the same preposition there; beside it where there is none."""
    given = {each.start for each in names(before)} if names(said) else set()
    when = {each.start for each in periods(before)}
    for match in reversed(list(re.finditer(rf"\b{preposition} (?:the )?", before, re.IGNORECASE))):
        start = match.end()
        if start in when or (given and start not in given):
            continue
        own = next((each.end for each in names(before) if each.start == start), None)
        return before[: match.start()] + f"{preposition} {said}" + before[own or _phrase_end(before, start) :]
    return _beside(f"{preposition} {said}", before)


def _phrase_end(text: str, start: int) -> int:
    """Where the words from `start` end that belong together: before the next preposition, or verb in the past."""
    end = start
    for word in re.finditer(r"[^\s?]+", text[start:]):
        said = word.group().casefold()
        if (said in PREPOSITIONS and said != "of") or (
            end > start and said in ("met", "made", "planned", "missed", "reached")
        ):
            break
        end = start + word.end()
    return end


def _swapped_name(said: str, before: str) -> str:
    there = names(before)
    if not there:
        return _beside(f"for {said}", before)
    old = max(there, key=lambda each: (_likeness(said, each, before), each.place, each.start))
    start, end = old.start, old.end
    new = said
    bare = re.sub(r"^the ", "", said, flags=re.IGNORECASE)
    if before[:start].endswith("the ") or before[:start].rstrip().casefold().endswith((" many", " much")):
        new = bare
    follow = before[end:].split()
    if len(bare.split()) > 1 and follow and _stem(follow[0]) == _stem(bare.split()[-1]):
        end = before.index(follow[0], end) + len(follow[0].rstrip("?,."))
    return before[:start] + new + before[end:]


def _stem(word: str) -> str:
    return stem(word.casefold().strip("?,."))


def _likeness(said: str, name: Name, before: str) -> int:
    """How much a name is like the one that is to take its place: both with figures or both without, common words."""
    figures = any(each.isdigit() for each in said) == any(each.isdigit() for each in name.text)
    shared = set(words(said)) & set(words(before[name.start : name.end + 12]))
    return 2 * figures + len(shared - {"the"})


def _swapped_measure(said: str, before: str) -> str:
    new = re.sub(r"^(?:the|a|an) ", "", said, flags=re.IGNORECASE)
    head = stem(new.split()[-1].casefold())
    for match in re.finditer(r"[\w-]+", before):
        if stem(match.group().casefold()) == head and len(new.split()) > 1:
            start = _modifiers(before, match.start())
            return before[:start] + new + before[match.end() :]
    span = asked_for(before)
    if span is None or any(span[0] <= each.start < span[1] for each in names(before)):
        return _beside(f"for {said}", before)
    return before[: span[0]] + new + before[span[1] :]


def _modifiers(text: str, end: int) -> int:
    """Where the plain words begin that stand before `end` and belong to the word there."""
    start = end
    named = {each.end for each in names(text)}
    for word in reversed(list(re.finditer(r"\S+", text[:end]))):
        said = word.group().casefold()
        owner = said.endswith(("'s", "’s", "s'", "s’"))
        if said in PREPOSITIONS or said in _EDGES or owner or word.end() in named or not said[0].isalpha():
            break
        start = word.start()
    return start


_EDGES = frozenset("the a an is was are were did does do many much what which average total and".split())


def _beside(said: str, before: str) -> str:
    """The earlier question with more said at its end, before a period that ends it."""
    text = before.rstrip(" ?.")
    found = periods(text)
    if found and found[-1].end == len(text):
        head = text[: found[-1].start].split(" ")
        while head and head[-1].casefold() in {*PREPOSITIONS, ""}:
            head.pop()
        at = len(" ".join(head))
        return f"{text[:at]} {said}{text[at:]}"
    return f"{text} {said}"


def find_carried(question: str, made: str, known: Sequence[Exchange]) -> tuple[Carried, ...]:
    """What of `made` the question does not say, each part with the latest exchange that says it."""
    rest, found = made, list[Carried]()
    own = set(words(question))
    for text, sort in _parts(made, known):
        at = rest.casefold().find(text.casefold())
        if at < 0 or set(words(text)) <= own:
            continue
        place = _place(text, known)
        if place is not None:
            rest = f"{rest[:at]} | {rest[at + len(text) :]}"
            found.append(Carried(text=text, sort=sort, run_id=place[0].run_id, found_in=place[1]))
    return tuple(found)


def _parts(made: str, known: Sequence[Exchange]) -> Iterator[tuple[str, Sort]]:
    """What may have been carried over: names, periods, what was asked for, then runs of other words."""
    named = [*names(made), *(name for each in known for name in names(each.answer))]
    yield from ((each.text, "name") for each in named)
    yield from ((each.text, "period") for each in periods(made))
    for each in reversed(known):
        if span := asked_for(before := sentence(each.question)):
            yield before[slice(*span)], "measure"
    for run in re.split(_BETWEEN, made, flags=re.IGNORECASE):
        if re.search(r"[^\W\d]", run) and run.strip().casefold() not in FUNCTION_WORDS:
            yield run.strip(), "subject"


def _place(text: str, known: Sequence[Exchange]) -> tuple[Exchange, Literal["question", "answer"]] | None:
    for each in reversed(known):
        if text.casefold() in each.question.casefold():
            return each, "question"
        if text.casefold() in each.answer.casefold():
            return each, "answer"
    return None


_LITTLE = "|".join(sorted(AUXILIARIES | (PREPOSITIONS - {"of"}) | {"the", "a", "an", "what", "which", "how", "why"}))
_BETWEEN = rf"[?,:]|(?:['’]s)? ?\b(?:{_LITTLE}|when|where|who|many|much|regarding)\b ?"
