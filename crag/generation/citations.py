"""Citation marks: [n] behind a sentence; made, read, and kept apart from brackets that the cited text holds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from crag.core.types import Chunk, Citation, FromWeb, Rect, SentenceCheck, Strip, WebPage
from crag.text.sentences import sentences

MARK = re.compile(r"\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\]")
"""[1], and [1, 2] as models write it."""
# Blanks are matched from the first of a run on, so that a long run is looked at once.
_MARKS = re.compile(rf"(?:(?<!\s)\s*+{MARK.pattern})+")
_LEADING_MARKS = re.compile(rf"(?:\s*{MARK.pattern})+[.!?]?")
_LEADERS = re.compile(r"(?<!\s)(?:\s*+[.·_…]){4,}+\s*+")
_BEHIND = re.compile(rf"(?:\s*{MARK.pattern})*")
_STOPS = ".!?…。！？"


def quotable(text: str) -> str:
    """A source's words on one line, without a bullet before them and with a dash for a row of dots.

    Its own [12] becomes (12), or it would be a citation.
    """
    words = _LEADERS.sub(" – ", re.sub(r"^\s*[-–•*▪]\s+", "", text))
    return MARK.sub(r"(\1)", " ".join(words.split()))


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


def with_found(answer: str, checks: Sequence[SentenceCheck]) -> str:
    """The answer with marks behind the sentences whose citations were found afterwards."""
    pieces, at = [], 0
    for _, end, check in locate_checks(answer, checks):
        if check.attributed and check.supported:
            pieces += [answer[at:end], *(f" [{number}]" for number in check.citations)]
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
    bare = sentence.rstrip(_STOPS)
    if bare == sentence:
        return f"{sentence} [{number}]" if sentence[-1] in "\"'”’»)" else f"{sentence} [{number}]."
    return f"{bare.rstrip()} [{number}]{sentence[len(bare) :]}"


def numbers_in(text: str) -> list[int]:
    """The numbers of all marks in a text, in order."""
    return [int(number) for match in MARK.finditer(text) for number in re.findall(r"\d+", match.group(1))]


def _literal_form(text: str) -> str:
    return quotable(text).casefold().strip(" \"'“”‘’").rstrip(f" ;:,{_STOPS}")
