"""Words: their stems, those that say nothing, the keywords of a question, and text that repeats itself without end."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from crag.text.memory import remember

MOST = 30
"""Marks on one letter that are kept, as in Unicode's stream-safe text (UAX #15); no language has more."""


def few_marks(text: str) -> str:
    """The text, to be normalized in time that grows with its length: of a long run of marks, the first ones."""
    return text if text.isascii() or _marks().isdisjoint(text) else _long_runs().sub(lambda run: run[0][:MOST], text)


def unmarked(text: str) -> str:
    """The text from its first letter on: marks before it would join those of whatever text comes before."""
    return text[next((at for at, sign in enumerate(text) if sign not in _marks()), len(text)) :]


@cache
def _long_runs() -> re.Pattern[str]:
    return re.compile(f"[{re.escape(''.join(_marks()))}]{{{MOST + 1},}}+")


@cache
def _marks() -> frozenset[str]:
    # Also the few signs that count as letters and come apart into marks.
    each = map(chr, range(0x300, 0x20000))
    return frozenset(
        sign for sign in each if any(map(unicodedata.combining, (sign, unicodedata.normalize("NFKD", sign)[0])))
    )


# The shipped evaluator has lists of its own, which it was trained with and which stay as they were then: `STOP` in
# crag/models/cross_encoder.py, `_STOP` in crag/evaluation/heads.py.
FUNCTION_WORDS = frozenset(
    """a about also an and any are as at be been both but by can could did do does for from had has have he her
    his how i if in into is it its me more most no not of on or our she should some such than that the their
    them then there these they this those to was we were what when where which who whom whose why will with
    would you your""".split()
)
"""English words that say nothing, whether in a question, an answer or a document."""

SEARCH_STOP_WORDS = FUNCTION_WORDS | frozenset(
    """above after again all am because before being below between doing down during each few further having
    here hers him itself just my nor now off once only other ours out over own same so theirs through too under
    until up us very while yours""".split()
)
"""With those that say something in an answer, but that name no document."""

STOP_WORDS = SEARCH_STOP_WORDS | frozenset(
    """against aren't can't cannot couldn't didn't doesn't don't either else ever every get give given gives
    gave got hadn't happen happened happens hasn't haven't hence herself himself however i'd i'll i'm i've isn't
    it's know least less let let's like made make makes many may might mine much must myself near neither never
    one others ourselves per please quite rather really said say says shall shouldn't tell that's themselves
    there's therefore they're thus upon via wasn't we're weren't what's whatever when's where's whether who's
    whole why's within without won't wouldn't yes yet you're yourself explain describe show list find mention
    mentioned call called named name according""".split()
)
"""With all that name no subject: the verbs that only ask, short forms, and rarer function words."""

MARKS = "".join(
    sign
    for sign in map(chr, (*range(0x300, 0x1E00), *range(0x20D0, 0x2100), *range(0xA660, 0xAC00)))
    if unicodedata.category(sign)[0] == "M"
)
"""Signs that belong to the letter before them, as vowels of Hindi and Thai do: no letters to `re`."""
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Scripts that put no spaces between words, as a range of a regular expression."""
SIGN = rf"[{UNSPACED}][{MARKS}]*+"
"""A letter of such a script with its marks, as a regular expression: what counts as a word of it."""
LETTER = rf"(?:{SIGN}|[\uac00-\ud7a3])"
"""A letter that is compared by itself: also of Korean, whose words come with particles that a question may lack."""
WORD = rf"[^\W_]+(?:[{MARKS}]+[^\W_]*)*+"
"""A word of any script, as a regular expression."""

SPACED = re.compile(rf"{SIGN}|[^\s{UNSPACED}]+")
"""What counts as a word: what stands between blanks, or a letter of a script without them."""
_WHOLE = re.compile(rf"\w+(?:[{MARKS}]+\w*)*+")
_PAIRED = re.compile(rf"{LETTER}+")
_SIGN = re.compile(rf".[{MARKS}]*+", re.DOTALL)
# Vowel marks of Hebrew and Arabic, which few texts write, and the stroke that only draws a word out.
_UNWRITTEN = re.compile("[\u0591-\u05bd\u05bf\u05c1-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]+")
# A line of Chinese or Japanese that goes on in the next one stands with a blank where it was broken.
_BROKEN = re.compile("(?<=[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])\\s(?=[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])")
# "250²" is not 2502, nor "1½" 11: behind a figure these stand apart.
_RAISED = re.compile(r"(?<=\d)(?=[\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u209c\u2150-\u215f\u2460-\u249b])")
_WESTERN = frozenset(map(chr, (*range(0x300), *range(0x2010, 0x20D0))))
"""Of Latin texts and their punctuation: none of them is parted further."""
_SUFFIXES = ("ational", "ization", "ations", "ation", "ments", "ment", "ingly", "edly", "ings", "ness", "ions", "ing")
_SHORT_SUFFIXES = ("ies", "ied", "ion", "ers", "ors", "ed", "er", "or", "es", "ly", "al", "s", "e", "y")


@remember(65_536)
def stem(word: str) -> str:
    """A lower-case word's rough stem. Numbers and words of at most three letters stay whole."""
    if len(word) <= 3 or word[0].isdigit():
        return word
    for suffixes, shortest in ((_SUFFIXES, 4), (_SHORT_SUFFIXES, 3)):
        for suffix in suffixes:
            if word.endswith(suffix) and len(word) - len(suffix) >= shortest:
                return word[: -len(suffix)]
    return word


def separate_words(text: str) -> str:
    """The text as its words are compared, with blanks between them.

    Letters have one form and no vowel marks of Hebrew and Arabic. Of a script without spaces, each letter is joined
    with the next, as Lucene does: 北京大学 becomes 北京 京大 大学.
    """
    if text.isascii():
        return text
    plain = unicodedata.normalize("NFKC", _RAISED.sub(" ", few_marks(text)))
    western = _WESTERN.issuperset(plain)
    return plain if western else _PAIRED.sub(_pair_letters, _BROKEN.sub("", _UNWRITTEN.sub("", plain)))


def _pair_letters(run: re.Match[str]) -> str:
    letters = _SIGN.findall(run[0])
    return f" {' '.join(map(''.join, pairwise(letters))) or run[0]} "


def words(text: str) -> list[str]:
    """The words of a text, folded in case, in order; see `separate_words`."""
    if text.isascii():
        return re.findall(r"\w+", text.lower())
    return _WHOLE.findall(separate_words(text).casefold())


def significant_stems(text: str) -> frozenset[str]:
    """The stems of a text's words without stop words."""
    return frozenset(stem(word) for word in words(text) if word not in STOP_WORDS)


def count_words(text: str) -> int:
    """How many words a text has; in scripts without spaces each character is one."""
    return len(text.split()) if text.isascii() else sum(1 for _ in SPACED.finditer(text))


LEAST, CHARS = 3, 160
"""Copies one after another, and characters of them all, from which it is a loop."""
LINES, LINE_CHARS = 4, 20
"""Lines, alike but for their numbers, from which it is a loop; and the characters that each has."""
WINDOW = 2400
"""How much of the end is looked at: three copies of a longer text are not found."""

_SENTENCE = re.compile(r"[.!?][\])\"'”]*\s+")
_NUMBER = re.compile(r"^\W*(?:\d+[.):]?)?\s*")


def loop_in(text: str) -> int | None:
    """Where the first copy of what a text repeats at its end is over; None where it repeats nothing."""
    tail = text[-WINDOW:]
    begins, period = _periodic(tail)
    if period:
        start = len(text) - len(tail) + begins
        while start and text[start - 1] == text[start - 1 + period]:
            start -= 1
        # A copy may begin in the middle of a sentence: what is kept goes on to the end of it.
        first = start + period
        ends = _SENTENCE.search(text, max(0, first - 8), first + period)
        return ends.end() if ends and ends.end() >= first else first
    return _lines(text)


def _periodic(tail: str) -> tuple[int, int]:
    """Where the longest run of copies at the end begins, and how long one is; (0, 0) where there is none.

    The text is read backwards with Knuth, Morris and Pratt's table of what each beginning repeats.
    """
    turned, table, found = tail[::-1], [0], (0, 0)
    for place in range(1, len(turned)):
        known = table[-1]
        while known and turned[known] != turned[place]:
            known = table[known - 1]
        table.append(known + (turned[known] == turned[place]))
        length = place + 1
        period = length - table[-1]
        if length >= max(CHARS, LEAST * period):
            found = len(tail) - length, period
    return found


def _lines(text: str) -> int | None:
    """The same of lines that differ in their numbers alone; the last, which may be unfinished, does not count."""
    ends, whole = list[int](), list[str]()
    place = 0
    for line in text.split("\n")[:-1]:
        place += len(line) + 1
        if line.strip():
            ends.append(place)
            whole.append(_NUMBER.sub("", line.strip()))
    if len(whole) < LINES or len(whole[-1]) < LINE_CHARS or len(set(whole[-LINES:])) > 1:
        return None
    first = len(whole) - LINES
    while first and whole[first - 1] == whole[-1]:
        first -= 1
    return ends[first]


MAX_PHRASE_WORDS = 4
"""Longer runs of plain words are cut; names and quoted phrases may be longer."""
MAX_NAME_WORDS = 7
MAX_KEYWORD_CHARS = 80

_VAGUE = frozenset(
    """additional amount answer billion billions case change changed different document documents figure good
    happened important information kind main million millions new number numbers old order part passage percent
    percentage place report reported result results section several sort state stated table text thing things time
    times total type use used using value way year years""".split()
)
"""Words that nearly every document holds: kept only where nothing better is."""

_ASKING = frozenset({"many", "much", "which", "what", "whose"})
_JOINING = frozenset({"of", "the", "for", "and", "de", "la", "le", "du", "des", "van", "von", "der", "da", "di", "&"})
_QUOTED = re.compile(r"\"([^\"\n]{2,80})\"|“([^”\n]{2,80})”|«([^»\n]{2,80})»|(?<!\w)'([^'\n]{2,80})'(?!\w)")
_TOKEN = re.compile(
    r"(?:[^\W\d_]\.){2,}|[$€£]?\d[\d.,:/]*\d(?!\w)%?|[$€£]?\d+%|&"
    rf"|\w[\w{MARKS}]*(?:[-'’./&]\w[\w{MARKS}]*)*|[^\w\s]"
)
_SENTENCE_END = frozenset(".?!:;")


@dataclass(frozen=True, slots=True)
class Keyword:
    """A word or phrase of the question. `weight`: the larger, the more it says; `place` counts from 0.

    `fixed`: a name, number or quoted phrase, which no inflection applies to.
    """

    text: str
    weight: float
    place: int
    fixed: bool = False


def keywords(question: str) -> list[Keyword]:
    """All keywords of a question in order of appearance, each once. Empty where it is all stop words.

    Quoted phrases weigh most, then capitalised names, then numbers, then runs of plain words, the longer the
    rarer; words that any document holds weigh least.
    """
    found: list[Keyword] = []
    rest = list(question)
    for match in _QUOTED.finditer(question):
        phrase = _clean(next(group for group in match.groups() if group is not None))
        if phrase and any(character.isalnum() for character in phrase):
            found.append(Keyword(phrase, 5.0, match.start(), fixed=True))
            # A full stop in its place keeps words on both sides from becoming one phrase.
            rest[match.start() : match.end()] = "," * (match.end() - match.start())
    found += _names_and_words("".join(rest))
    return _once(found)


def variants(word: str) -> list[str]:
    """Other forms of a word: its parts if it is compound, its singular or plural in English. May be empty."""
    found = [part for part in re.split(r"[-/]", word) if len(part) > 2] if re.search(r"\w[-/]\w", word) else []
    head, space, last = word.rpartition(" ")
    other = _other_number(last)
    if other:
        found.append(head + space + other)
    return found


def _other_number(word: str) -> str | None:
    lower = word.casefold()
    if not lower.isascii() or not lower.isalpha() or not 4 <= len(lower) <= 20 or word.isupper():
        return None
    if lower.endswith(("ed", "ing", "ly", "men")):
        return None
    if lower.endswith("ies") and len(lower) > 4:
        return word[:-3] + "y"
    if lower.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    if lower.endswith("s"):
        return None if lower.endswith(("ss", "us", "is")) else word[:-1]
    if lower.endswith("y") and lower[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if lower.endswith(("x", "ch", "sh")) else "s")


def _names_and_words(text: str) -> list[Keyword]:
    tokens = [(match.group(), match.start()) for match in _TOKEN.finditer(text)]
    found: list[Keyword] = []
    place, starts_sentence = 0, True
    while place < len(tokens):
        token, at = tokens[place]
        if not any(character.isalnum() for character in token):
            starts_sentence = token in _SENTENCE_END or (starts_sentence and token not in (",",))
            place += 1
            continue
        name_end = _name_end(tokens, place, starts_sentence)
        if name_end > place:
            taken = [word for word, _ in tokens[place:name_end]]
            found.append(Keyword(_clean(" ".join(taken)), 4.0 + 0.1 * len(taken), at, fixed=True))
        elif any(character.isdigit() for character in token):
            # A year stands alone; another number says something only with what it counts: "60 days".
            year = re.fullmatch(r"(?:19|20)\d\d", token) is not None
            counts = not year and place + 1 < len(tokens) and _plain(tokens[place + 1][0])
            name_end = place + 2 if counts else place + 1
            taken = [word for word, _ in tokens[place:name_end]]
            found.append(Keyword(_clean(" ".join(taken)), 3.5 if year else 3.0, at, fixed=True))
        elif _plain(token):
            name_end = _run_end(tokens, place)
            taken = [word for word, _ in tokens[place:name_end]]
            # "How many claims", "which year": right behind these stands what is asked for.
            asked = 0.5 if place and tokens[place - 1][0].casefold() in _ASKING else 0.0
            found.append(Keyword(_clean(" ".join(taken)), min(_plain_weight(taken) + asked, 2.9), at))
        else:
            name_end = place + 1
        starts_sentence = False
        place = name_end
    return found


def _name_end(tokens: list[tuple[str, int]], place: int, starts_sentence: bool) -> int:
    """Where the capitalised name that begins at `place` ends; `place` itself where none begins."""
    first = tokens[place][0]
    if not _capital(first) or first.casefold() in STOP_WORDS:
        return place
    end = place + 1
    while end < len(tokens) and end - place < MAX_NAME_WORDS:
        ahead = end
        while ahead < len(tokens) and ahead - end < 2 and tokens[ahead][0].casefold() in _JOINING:
            ahead += 1
        if ahead < len(tokens) and _goes_on(tokens[ahead][0], beside=ahead == end):
            end = ahead + 1
        else:
            break
    alone = end == place + 1
    # The first word of a sentence is capitalised whatever it is: alone it is a name only if written like one.
    if alone and starts_sentence and not any(letter.isupper() for letter in first[1:]):
        return place
    return end


def _goes_on(token: str, beside: bool) -> bool:
    """Whether a name runs on with this token: another capitalised word, or a number right beside it (FY 2019)."""
    return (_capital(token) and token.casefold() not in STOP_WORDS) or (beside and token[0].isdigit())


def _run_end(tokens: list[tuple[str, int]], place: int) -> int:
    end = place + 1
    while end < len(tokens) and end - place < MAX_PHRASE_WORDS and _plain(tokens[end][0]):
        if _capital(tokens[end][0]):
            break
        end += 1
    return end


def _plain(token: str) -> bool:
    return token[0].isalpha() and token.casefold().replace("’", "'") not in STOP_WORDS and len(token) > 1


def _plain_weight(taken: list[str]) -> float:
    """Between 0.5 and 3: longer words are rarer, and a phrase says a little more than a word."""
    best = max(0.5 if word.casefold() in _VAGUE else 1.0 + min(len(word), 12) / 12 for word in taken)
    return min(best + 0.2 * (len(taken) - 1), 2.9)


def _capital(token: str) -> bool:
    return token[0].isupper()


def _clean(text: str) -> str:
    """One line, no comma, which separates a query's keywords, not over-long."""
    line = " ".join(re.sub(r",(?!\d)", " ", text).split()).strip(" :;?!")
    line = line if re.search(r"(?:\b\w\.){2}$", line) else line.rstrip(".")
    return re.sub(r"['’]s$", "", line)[:MAX_KEYWORD_CHARS].strip()


def _once(found: list[Keyword]) -> list[Keyword]:
    """Each keyword at its first place; what comes back often weighs a little more."""
    often = Counter(keyword.text.casefold() for keyword in found)
    first: dict[str, Keyword] = {}
    for keyword in sorted(found, key=lambda each: each.place):
        key = keyword.text.casefold()
        if key and key not in first:
            bonus = min(0.1 * (often[key] - 1), 0.9)
            first[key] = Keyword(keyword.text, keyword.weight + bonus, keyword.place, keyword.fixed)
    return list(first.values())
