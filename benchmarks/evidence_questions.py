"""Questions with their gold pages for benchmarks.evidence: made by rule from filings and reports, and by people.

A cell's question asks for a row of a table in a column, a sentence's for what a sentence says of its subject. A page is
gold where it holds the same cell, or the same sentence. The wording is drawn; the same seed draws the same questions.
Every document belongs to one half, and all filings of a company to the same: "choose" may choose settings, "report" is
only reported.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from corpora.answer_questions import PICTURES, Part, half
from corpora.published_sets import read_published
from crag.analysis.metrics.metrics import name_of
from crag.analysis.questions.sets import Question
from crag.core.types import Chunk
from crag.text.sentences import sentences
from crag.text.words import count_words

EACH = 10
"""Questions of one kind from one document."""
SEED = 33
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_DATE = re.compile(
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December) \d{1,2}, (?:19|20)\d\d"
)
_VAGUE = re.compile(
    r"(?:it|this|these|those|that|they|we|there|he|she|our|such|both|other|others|total|note|see|the following|table|"
    r"figure|item|part|page|section|exhibit)\b",
    re.IGNORECASE,
)
_IS = re.compile(r"(?P<subject>[A-Z][^,;:()“”\"]{8,80}?) (?P<verb>was|were|is|are) (?P<rest>[^?]{20,240})\.")
_MOVED = re.compile(
    r"(?P<subject>[A-Z][^,;:()“”\"]{4,80}?) (?P<verb>increased|decreased|declined|grew|rose|fell)\b"
    r"(?P<rest>[^?]{10,240})\."
)
_DOES = re.compile(
    r"(?P<subject>[A-Z][^,;:()“”\"]{6,70}?) "
    r"(?P<verb>includes?|requires?|provides?|supports?|represents?|allows?|offers?) (?P<rest>[^?]{20,240})\."
)
_BASE = {"increased": "increase", "decreased": "decrease", "declined": "decline", "grew": "grow", "rose": "rise"}
_CAUSE = re.compile(r"\b(?:due to|because|driven by|reflect\w*|as a result|primarily|mainly|attributable)\b")
_FIGURE = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class _Seed:
    """What a question is made of: where it stands, what must be on a page for it to be gold, and the wordings."""

    page: int
    key: str
    wordings: tuple[str, ...]
    answer: str


def part_of(source: str) -> Part:
    """The half that a document belongs to, by the first part of its name, which is a company's."""
    return half(name_of(source).split("_")[0])


def made_questions(chunks: Iterable[Chunk], names: Mapping[str, str], each: int = EACH) -> Iterator[Question]:
    """At most `each` cells' and as many sentences' questions from every document.

    `names` says how a document is spoken of, by file name; others are named by their title.
    """
    documents: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        documents.setdefault(chunk.source, []).append(chunk)
    for source, own in sorted(documents.items()):
        name = names.get(source) or _short_title(own[0].title)
        for kind, seeds in (("cell", _cells(own)), ("sentence", _sentences(own))):
            yield from _draw(source, name, kind, list(seeds), each)


def published_questions(data: Path) -> Iterator[tuple[str, Question]]:
    """The questions of FinanceBench and MMLongBench that have a gold page, each with the name of its set.

    Those of MMLongBench that need a picture are left out.
    """
    found = read_published(data / "financebench/questions.jsonl")
    yield from (("FinanceBench", each) for each in found.questions if each.pages)
    file = data / "mmlongbench/questions.jsonl"
    rows = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    for each, row in zip(read_published(file).questions, rows, strict=True):
        if each.pages and not re.search("Chart|Figure", row["evidence_sources"]) and not PICTURES.search(each.question):
            yield "MMLongBench", each


def company_names(data: Path) -> dict[str, str]:
    """How FinanceBench's filings are spoken of: company and year, by file name."""
    found = {}
    for line in (data / "financebench/questions.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        year = _YEAR.search(row["doc_name"].replace("_", " "))
        found[f"{row['doc_name']}.pdf"] = f"{row['company']} {year[0]}" if year else row["company"]
    return found


def _draw(source: str, name: str, kind: str, seeds: Sequence[_Seed], each: int) -> Iterator[Question]:
    dice = random.Random(f"{SEED} {source} {kind}")
    places: dict[str, set[int]] = {}
    for seed in seeds:
        places.setdefault(seed.key, set()).add(seed.page)
    one = list({seed.key: seed for seed in seeds if len(places[seed.key]) <= 3}.values())
    for number, seed in enumerate(dice.sample(one, min(each, len(one)))):
        asked = dice.choice(seed.wordings)
        low = asked[:1].lower() + asked[1:]
        asked = dice.choice((f"{name}: {asked}", f"In {name}, {low}", f"{asked[:-1]} in {name}?"))
        pages = tuple(sorted(places[seed.key]))
        yield Question(f"{kind}-{source}-{number}", asked, (seed.answer,), (source,), pages, labels=(kind,))


def _cells(chunks: Sequence[Chunk]) -> Iterator[_Seed]:
    for chunk in chunks:
        for table in chunk.tables:
            for row in table.rows:
                label = " ".join(chunk.text[row.start : row.label].split()).strip(" :.")
                if _VAGUE.match(label) or not 2 <= count_words(label) <= 9 or _FIGURE.search(label):
                    continue
                low = label if label[1:2].isupper() else label[:1].lower() + label[1:]
                for cell in row.cells:
                    column, value = table.name(cell).strip(" $%("), chunk.text[cell.start : cell.end].strip()
                    if not _FIGURE.search(value) or not 1 <= count_words(column) <= 12:
                        continue
                    when = _when(column)
                    wordings = (f"What was {low} {when}?", f"How much was {low} {when}?", f"{label} {when}?")
                    yield _Seed(chunk.page, f"{label} {column} {value}", wordings, value)


def _when(column: str) -> str:
    date, year = _DATE.search(column), _YEAR.search(column)
    if date:
        return f"as of {date[0]}" if column == date[0] else f"for {column}"
    return f"in {year[0]}" if year and count_words(column) <= 3 else f"for {column}"


def _sentences(chunks: Sequence[Chunk]) -> Iterator[_Seed]:
    for chunk in chunks:
        if chunk.kind == "table":
            continue
        for start, end in sentences(chunk.text):
            text = " ".join(chunk.text[start:end].split())
            wordings = tuple(_ask(text)) if 10 <= count_words(text) <= 45 else ()
            if wordings:
                yield _Seed(chunk.page, text, wordings, text)


def _ask(text: str) -> Iterator[str]:
    for pattern in (_MOVED, _IS, _DOES):
        found = pattern.fullmatch(text)
        if found is None or _VAGUE.match(found["subject"]) or count_words(found["subject"]) < 2:
            continue
        subject, verb, rest = found["subject"], found["verb"], found["rest"]
        subject = subject if subject[1:2].isupper() else subject[:1].lower() + subject[1:]
        if pattern is _MOVED:
            base = _BASE.get(verb, "fall")
            if _CAUSE.search(rest):
                yield f"Why did {subject} {base}?"
            if _FIGURE.search(rest):
                yield f"By how much did {subject} {base}?"
        elif pattern is _IS:
            yield f"What {verb} {subject}?"
            yield f"What does it say about {subject}?"
        else:
            plural = not verb.endswith("s")
            yield f"What {'do' if plural else 'does'} {subject} {verb.removesuffix('s')}?"
        return


def _short_title(title: str) -> str:
    """A title as one would speak of the document: its first eight words."""
    return " ".join(title.replace("_", " ").split()[:8]).strip(" –-:,")
