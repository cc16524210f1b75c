"""Questions that a text nearly answers: about another year, another measure, the opposite, or another of its names."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from crag.text.names import names_in
from crag.text.numerals import numbers_in

ALIKE: Sequence[str] = (
    "height width length depth weight area size",
    "population area income density temperature",
    "born buried married educated baptized",
    "birth death marriage",
    "father mother brother sister son daughter wife husband uncle grandfather",
    "king queen president governor mayor emperor bishop general minister",
    "revenue expense income cost cash tax profit loss margin",
    "revenues expenses costs profits losses taxes",
    "sales costs assets liabilities expenses dividends inventories receivables payables",
    "gross net total average median minimum maximum",
    "current deferred accrued impaired amortized",
    "domestic foreign international regional",
    "quarterly annual monthly weekly daily hourly",
    "highest lowest average",
    "largest smallest",
    "biggest smallest",
    "longest shortest",
    "oldest youngest newest",
    "fastest slowest",
    "first second third fourth last",
    "earliest latest",
    "best worst",
    "most least fewest",
    "more less fewer",
    "before after during since until",
    "north south east west",
    "northern southern eastern western central",
    "upper lower inner outer",
    "left right",
    "increase decrease",
    "increased decreased",
    "rise fall decline",
    "gain lose",
    "win lose",
    "won lost",
    "winner loser",
    "begin end",
    "began ended",
    "start finish stop",
    "started stopped finished",
    "open close",
    "opened closed",
    "founded dissolved abolished",
    "built destroyed restored designed",
    "created destroyed",
    "joined left",
    "arrived departed",
    "bought sold leased",
    "hired fired",
    "allowed forbidden prohibited",
    "legal illegal",
    "accepted rejected refused",
    "support oppose",
    "supported opposed",
    "agreed disagreed",
    "cause prevent cure",
    "causes prevents cures",
    "advantages disadvantages",
    "benefits risks",
    "strengths weaknesses",
    "positive negative",
    "male female",
    "men women children",
    "boys girls",
    "husbands wives",
    "public private",
    "urban rural",
    "ancient modern medieval",
    "winter summer spring autumn",
    "january april july october december",
    "monday wednesday friday sunday",
    "morning evening night",
    "century decade year month week day",
    "percentage number",
    "percent number amount ratio",
    "miles kilometers degrees dollars acres feet",
    "million billion thousand percent",
    "red blue green yellow black white",
    "english french german spanish italian chinese russian",
    "british american german french russian",
    "england france germany spain italy china russia",
    "football baseball basketball hockey tennis",
    "river mountain lake island city county",
    "capital language currency religion",
    "author editor publisher director producer composer",
    "wrote directed produced composed painted published",
    "directed produced written",
    "singer actor drummer guitarist",
    "album song film novel",
    "treatment symptom cause diagnosis",
    "treatments symptoms causes",
    "import export",
    "imports exports",
    "teacher student",
    "teachers students",
    "employer employee",
    "employees customers shareholders directors",
    "buyer seller",
    "attack defend",
    "attacked defended",
    "invented discovered banned",
    "hot cold",
    "hard soft",
    "strong weak",
    "rich poor",
    "safe dangerous",
    "always never",
    "include exclude",
    "maternal paternal",
    "indoor outdoor",
)
"""Words that ask for another thing where one takes the other's place."""
_OTHERS = {word: [each for each in line.split() if each != word] for line in reversed(ALIKE) for word in line.split()}
_YEAR = re.compile(r"\b(1[5-9]|20)\d\d\b")
_WORD = re.compile(r"[A-Za-z]+")
_NAME = re.compile(r"(?<!^)(?<![.!?]\s)\b[A-Z][\w'-]+(?:\s+[A-Z][\w'-]+)*")


def make_near_miss(question: str, text: str, dice: random.Random) -> str:
    """The question about another year, measure or name, or about the opposite; unchanged where it has none of them.

    The year and the word are not in the text. The name is: what people write to mislead has the text's own names.
    """
    kinds = [_change_year, _change_word, _change_name]
    for change in dice.sample(kinds, len(kinds)):
        other = change(question, text, dice)
        if other != question:
            return other
    return question


def _change_year(question: str, text: str, dice: random.Random) -> str:
    years = list(_YEAR.finditer(question))
    if not years:
        return question
    match = dice.choice(years)
    shifts = [n for n in (-3, -2, -1, 1, 2, 3, 10) if str(int(match.group()) + n) not in text]
    return _replace(question, match, str(int(match.group()) + dice.choice(shifts))) if shifts else question


def _change_word(question: str, text: str, dice: random.Random) -> str:
    said = {word.lower() for word in _WORD.findall(text)}
    places = [
        (match, [other for other in _OTHERS.get(match.group().lower(), ()) if other not in said])
        for match in _WORD.finditer(question)
    ]
    places = [(match, others) for match, others in places if others]
    if not places:
        return question
    match, others = dice.choice(places)
    other = dice.choice(others)
    return _replace(question, match, other.capitalize() if match.group()[0].isupper() else other)


def _change_name(question: str, text: str, dice: random.Random) -> str:
    names = list(_NAME.finditer(question))
    pool = [name.group() for name in _NAME.finditer(text) if name.group() not in question]
    pool = [name for name in pool if len(name.split()) <= 3]
    return _replace(question, dice.choice(names), dice.choice(pool)) if names and pool else question


def _replace(question: str, match: re.Match[str], other: str) -> str:
    return question[: match.start()] + other + question[match.end() :]


def swap_within(question: str, text: str, spots: Sequence[tuple[int, int]], dice: random.Random) -> dict[str, str]:
    """The question with another year, number or name of the text in place of its own, by what was swapped.

    None that an answer holds, whose places in the text are `spots`.
    """
    spoken = [text[start:end] for start, end in spots]
    found = {}
    for kind, in_question, in_text in (
        ("year", *(_years(each) for each in (question, text))),
        ("number", *(_numbers(each) for each in (question, text))),
        ("name", *([(each.start, each.end) for each in names_in(part)] for part in (question, text))),
    ):
        others = [text[start:end] for start, end in in_text]
        others = [each for each in others if each.casefold() not in question.casefold() and len(each.split()) < 4]
        others = [each for each in others if not any(each in answer or answer in each for answer in spoken)]
        if in_question and others:
            start, end = dice.choice(in_question)
            found[kind] = question[:start] + dice.choice(others) + question[end:]
    return found


def _years(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in _YEAR.finditer(text)]


def _numbers(text: str) -> list[tuple[int, int]]:
    found = [each for each in numbers_in(text) if each.kind == "digits" and not _YEAR.fullmatch(each.text)]
    return [(each.start, each.end) for each in found]
