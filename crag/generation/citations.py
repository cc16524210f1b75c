"""Citation marks: [n] behind a sentence; made, read, and kept apart from brackets that the cited text holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from crag.core.types import Answer, Chunk, Citation, Doubt, FromWeb, Rect, SentenceCheck, Strip, WebPage
from crag.text.sentences import STOPS, sentences

MARK = re.compile(r"\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\]")
"""[1], and [1, 2] as models write it."""
_ONE = r"(?:sources?)?[\s:]{0,2}\^?\d{1,3}(?:\s?[-–—]\s?\d{1,9})?(?:,\s?p(?:age|\.)\s?\d{1,4})?"
_MORE = rf"(?:\s{{0,2}}(?:[,;&]|and)\s{{0,2}}{_ONE})*+"
_WRITTEN_MARK = re.compile(
    rf"[\[【]\s?{_ONE}{_MORE}(?:†[^\]】\n]{{0,40}})?\s?[\]】]|\((?=source){_ONE}{_MORE}\s?\)", re.IGNORECASE
)
"""All that models write: [^1], [1-3], 【1†L4】, [source 1], (Sources 1 and 2), [1, page 4]."""
_RANGE = re.compile(r"(?<![\d.])(?:p(?:age|\.)\s?\d+|(\d{1,3})(?:\s?[-–—]\s?(\d{1,9}))?)", re.IGNORECASE)
LARGEST = 999
"""The largest number of a mark."""
WIDEST = 8
"""So many numbers a range of marks stands for at most."""
# Blanks are matched from the first of a run on, so that a long run is looked at once.
_MARKS = re.compile(rf"(?:(?<!\s)\s*+{MARK.pattern})+")
_LEADING_MARKS = re.compile(rf"(?:\s*{MARK.pattern})+[.!?]?")
_NUMBERED = re.compile(r"\n[^\S\n]*+(\d{1,2})[.)]\s")
_LEADERS = re.compile(r"(?<!\s)(?>(?:\s*+[.·_…]){4,})\s*+")
_BEHIND = re.compile(rf"(?:\s*{MARK.pattern})*")


def quotable(text: str) -> str:
    """A source's words on one line, without a bullet before them and with a dash for a row of dots.

    Its own [12] becomes (12), or it would be a citation; and so does the 12. of a list's line, which ends no sentence.
    """
    words = _LEADERS.sub(" – ", re.sub(r"^\s*[-–•*▪]\s+", "", text))
    words = _NUMBERED.sub(r" (\1) ", words)
    return MARK.sub(r"(\1)", " ".join(words.split()))


def read_marks(text: str, number: Callable[[int], int] = int) -> str:
    """The text with each mark in one of the forms that models write as [n], a mark a number, given by `number`.

    A range that is too wide to be one of sources is its last number, which stands for nothing.
    """

    def rewrite(mark: re.Match[str]) -> str:
        given: list[int] = []
        for first, last in _RANGE.findall(mark.group().partition("†")[0]):
            if first:
                start, end = int(first), int(last or first)
                given += range(start, end + 1) if 0 <= end - start < WIDEST else [min(end, LARGEST)]
        return "".join(f"[{each}]" for each in dict.fromkeys(map(number, given)))

    return _WRITTEN_MARK.sub(rewrite, text)


def with_mark(text: str, number: int) -> str:
    """Each sentence of the text with the mark before its final stop, where no splitter parts the two."""
    return " ".join(_add_mark(text[start:end], number) for start, end in sentences(text))


def split_cited_sentences(text: str) -> list[tuple[str, tuple[int, ...]]]:
    """The sentences of an answer without their marks, each with the numbers it cites, in order of appearance.

    Marks behind the final stop belong to the sentence before them.
    """
    found: list[tuple[str, list[int]]] = []
    for start, end in sentences(text):
        piece = text[start:end]
        leading = _LEADING_MARKS.match(piece)
        if leading and found:
            found[-1][1].extend(numbers_in(leading.group()))
            piece = piece[leading.end() :]
        bare = " ".join(_MARKS.sub(_parting, piece).split())
        if any(character.isalnum() for character in bare):
            found.append((bare, numbers_in(piece)))
        elif found:
            found[-1][1].extend(numbers_in(piece))
    return [(sentence, tuple(dict.fromkeys(numbers))) for sentence, numbers in found]


def _parting(marks: re.Match[str]) -> str:
    """What stands in place of marks: a blank between two words, else nothing."""
    return " " if re.match(r"\w", marks.string[marks.end() : marks.end() + 1]) else ""


def locate_checks(answer: str, checks: Sequence[SentenceCheck]) -> Iterator[tuple[int, int, SentenceCheck]]:
    """Each check with start and end of its sentence, marks behind it included, in order; those not found left out.

    A check's sentence is without its marks, which stand before or behind the stop in the answer, and its spaces are
    other ones: so only what is neither is compared.
    """
    kept = [place for place, letter in enumerate(MARK.sub(_blank, answer)) if not letter.isspace()]
    letters = "".join(answer[place] for place in kept)
    at = 0
    for check in checks:
        wanted = "".join(check.sentence.split())
        found = letters.find(wanted, at) if wanted else -1
        if found < 0:
            continue
        at = found + len(wanted)
        behind = _BEHIND.match(answer, kept[at - 1] + 1)
        yield kept[found], behind.end() if behind else kept[at - 1] + 1, check


def replace_marks(answer: str, checks: Sequence[SentenceCheck]) -> str:
    """The answer with just the marks that each sentence's check keeps: those it had where they stood, others behind."""
    pieces, at = [], 0
    for start, end, check in locate_checks(answer, checks):
        left = list(check.citations)

        def keep(marks: re.Match[str], left: list[int] = left) -> str:
            kept = [number for number in dict.fromkeys(numbers_in(marks.group())) if number in left]
            left[:] = [number for number in left if number not in kept]
            blank = marks.group()[: -len(marks.group().lstrip())]
            return blank + "".join(f"[{number}]" for number in kept) if kept else _parting(marks)

        sentence = _MARKS.sub(keep, answer[start:end])
        for number in left:
            sentence = _add_mark(sentence, number) if sentence[-1] in STOPS else f"{sentence} [{number}]"
        pieces += [answer[at:start], sentence]
        at = end
    return "".join([*pieces, answer[at:]])


def _blank(mark: re.Match[str]) -> str:
    return " " * len(mark.group())


def literal(claim: str, cited: str) -> bool:
    """Whether a claim is there word for word in the cited text: spacing, case and the final stop aside."""
    wanted = _literal_form(claim)
    if not wanted:
        return False
    # At the edges of words only: "4" is not quoted from "40".
    return re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", _literal_form(cited)) is not None


def build_citation(number: int, strip: Strip, source: Chunk | WebPage | None, start: int, end: int) -> Citation:
    """The pointer to the characters [start, end) of a strip, with page and rectangles where its source has them."""
    page: int | None = None
    url: str | None = None
    place = ""
    from_web: FromWeb = ""
    rects: tuple[Rect, ...] = ()
    recognised: float | None = None
    match source:
        case Chunk():
            name, page, place = source.source, source.page, source.place
            url, from_web = source.url or None, source.from_web
            rects = source.rects(strip.start + start, strip.start + end)
            recognised = source.recognised_in(strip.start + start, strip.start + end)
        case WebPage():
            name, url = source.title or source.url, source.url
        case None:
            name = strip.source_id
    return Citation(
        number=number,
        strip_id=strip.id,
        source_id=strip.source_id,
        origin=strip.origin,
        source=name,
        quote=strip.text[start:end],
        page=page,
        url=url,
        rects=rects,
        place=place,
        recognised=recognised,
        from_web=from_web,
    )


def _add_mark(sentence: str, number: int) -> str:
    """A sentence that has no stop, a table row or heading, gets one, or the next would seem to be part of it."""
    bare = sentence.rstrip(STOPS)
    if bare == sentence:
        return f"{sentence} [{number}]" if sentence[-1] in "\"'”’»)" else f"{sentence} [{number}]."
    return f"{bare.rstrip()} [{number}]{sentence[len(bare) :]}"


def numbers_in(text: str) -> list[int]:
    """The numbers of all marks in a text, in order."""
    return [int(number) for match in MARK.finditer(text) for number in re.findall(r"\d+", match.group(1))]


def _literal_form(text: str) -> str:
    return quotable(text).casefold().strip(" \"'“”‘’").rstrip(f" ;:,{STOPS}")


def usable_of(knowledge: Sequence[Strip]) -> tuple[list[Strip], float | None]:
    """The strips that hold a word, and the best score among them; None where none was scored."""
    usable = [strip for strip in knowledge if any(character.isalnum() for character in strip.text)]
    return usable, max((strip.score for strip in usable if strip.score is not None), default=None)


def abstention(
    sources: Mapping[str, Chunk | WebPage],
    by: str,
    reason: str = "",
    unnamed: tuple[str, ...] = (),
    confidence: float | None = None,
) -> Answer:
    """Says in a sentence why nothing is answered: a `reason`, or that no passage says it.

    `unnamed`: what the question names and nothing found does, which is then the reason. `confidence`: of an answer that
    is not given for being too low.
    """
    searched = any(isinstance(source, WebPage) for source in sources.values())
    doubt: Doubt = "unnamed" if unnamed else "no answer" if reason else "weak"
    reason = f"Nothing found names {' or '.join(unnamed)}." if unnamed else reason
    text = reason or f"No passage of your documents{' or of the web pages found' if searched else ''} says it."
    return Answer(text=text, by=by, abstained=True, doubts=(doubt,), unnamed=unnamed, confidence=confidence)
