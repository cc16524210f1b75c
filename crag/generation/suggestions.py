"""Questions that a text answers, made from its sentences, table rows and headings by rules. Pure.

What a rule makes is only a proposal: before it is shown, an evaluator judges whether the text answers it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from crag.core.types import Chunk
from crag.text.sentences import ends_as_sentence, informative_heading, sentences
from crag.text.words import STOP_WORDS, significant_stems

MAX_TEXT = 6_000
"""So much of a chunk is looked at."""
MAX_SENTENCE = 320
MAX_QUESTION = 220
MAX_TITLE = 90
_LONGEST = 14
"""Words of a subject, and of what is asked of it."""

_LEAD = re.compile(r"^((?:In|During|By|As of|Since|Through|At the end of|On) [^,;:]{2,40}), (?=\S)")
_DID = re.compile(r"^(?P<subject>.{2,100}?) (?P<verb>[a-z]{3,}ed)(?: and [a-z]{3,}ed)? (?P<rest>\S.*)$")
_ROW = re.compile(r"^(?P<label>[^:;|\n]{6,110}?):\s++(?P<cells>[^\d\n]*+\d.*)$")
_ONE_CELL = 24
"""A row of one cell is a row where that is no longer."""
_YEAR = re.compile(r"\b(?:FY ?|fiscal year )?(?:19|20)\d\d\b")
_CUT = re.compile(r"(?<!\s)\s*+\(|,? (?:that|which|who|while|because|so|but|including|such as) ")
_EDGE = re.compile(rf",(?!\d)|[;:()–—]|{_CUT.pattern}")
_SECTION = 400
"""So many characters of a section are taken for what it says."""
_UNFIT = frozenset(
    """am are be been being can could did do does had has have is may must not was were will would it its such their
    these they this those""".split()
)
"""Words that a subject can't have: it would be another clause, or stand for what is said elsewhere."""
_AFTER_HEAD = re.compile(r"(?i) (?:as|at|before|by|for|from|in|of|on|over|per|to|under|with)\b")
_TRAILING = re.compile(r"(?:able|ed|ing)$")
"""What may follow the noun that a label is about: "accounts payable", "shares outstanding"."""
_PARTS = frozenset("beginning ending opening closing balance due other year years thereafter less plus".split())
"""A label that begins so names a part of its table, which can't be understood without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A question, and the text `quote` of its chunk that is to answer it; [start, end) in the chunk's text."""

    question: str
    made_of: Literal["sentence", "row", "section"]
    chunk: Chunk
    quote: str

    @property
    def text(self) -> str:
        """What an evaluator is to read: the text under its heading."""
        return f"{self.chunk.context}\n{self.quote}" if self.chunk.context else self.quote


def proposals(asked: str, chunks: Sequence[Chunk], *, titled: bool) -> list[Proposal]:
    """Questions that these chunks may answer, those nearest to what was `asked` first, never that itself.

    `titled`: each names its document, because the library has others.
    """
    wanted = significant_stems(asked)
    ranked: list[tuple[float, int, int, Proposal]] = []
    for place, chunk in enumerate(chunks):
        for number, made in enumerate(_propose_from_chunk(chunk)):
            whole = _finish_question(made.question, chunk, titled=titled)
            question_stems = significant_stems(made.question)
            if len(whole) > MAX_QUESTION or len(question_stems) < 2 or question_stems == wanted:
                continue
            shared = len(question_stems & wanted) / len(wanted | question_stems)
            late = made.made_of == "section"
            proposal = Proposal(question=whole, made_of=made.made_of, chunk=chunk, quote=made.quote)
            ranked.append((late - shared, place, number, proposal))
    return [proposal for *_, proposal in sorted(ranked, key=lambda each: each[:3])]


def _propose_from_chunk(chunk: Chunk) -> Iterator[Proposal]:
    """What the rules make of one chunk, in its order."""
    text = chunk.text[:MAX_TEXT]
    for start, end in sentences(text):
        line = " ".join(text[start:end].split()).lstrip("•▪◦*–—- ")
        if len(line) > MAX_SENTENCE and chunk.kind == "text":
            continue
        row = None if ends_as_sentence(line) else _ROW.match(line)
        if question := _of_row(row) if row else _of_sentence(line):
            yield Proposal(question=question, made_of="row" if row else "sentence", chunk=chunk, quote=line)
    if chunk.kind == "text" and (
        heading := informative_heading(chunk.context.removeprefix(chunk.title).split(" › ")[-1])
    ):
        yield Proposal(question=f"What is said about {heading}", made_of="section", chunk=chunk, quote=text[:_SECTION])


def _of_row(row: re.Match[str]) -> str:
    """What a row's label says, in the latest year that a column of it names; empty of a label that is no measure."""
    label, cells = re.sub(r"(?<!\s)\s*+\(\w{1,3}\)$", "", row["label"]).strip(" .*"), row["cells"]
    spoken = [word for word in re.findall(r"[^\W\d_]{3,}", label) if word.casefold() not in STOP_WORDS]
    if len(spoken) < 2 or not label[0].isalpha() or _EDGE.search(label) or _YEAR.search(label):
        return ""
    if label.split()[0].casefold() in _PARTS or not any(word.islower() for word in spoken):
        return ""
    if "; " not in cells and len(cells) > _ONE_CELL:
        return ""
    if [*label.split(), ""][1].islower() and label.split()[0][1:].islower():
        label = label[0].lower() + label[1:]  # the first word is large because it is the first
    years = _YEAR.findall(cells)
    latest = max(years, key=lambda year: year[-4:], default="")
    if sum(year[-4:] == latest[-4:] for year in years) > 1:
        return ""  # several columns are of that year: no question would ask for one of them
    article = "" if label.split()[0].casefold() in STOP_WORDS else "the "
    return f"What {_was_or_were(label)} {article}{label}" + (f" in {latest}" if latest else "")


def _was_or_were(label: str) -> str:
    """The verb of a row's label, by the last noun before a preposition: "accounts payable", "cost of sales"."""
    head = _AFTER_HEAD.split(label, maxsplit=1)[0].split()
    while len(head) > 1 and _TRAILING.search(head[-1]):
        head.pop()
    return "were" if re.search(r"[^\Wsui]s$", head[-1]) else "was"


def _of_sentence(line: str) -> str:
    """Who did what: of a sentence that names somebody and something; empty of any other."""
    if not ends_as_sentence(line) or not line[:1].isalpha():
        return ""
    bare, lead = line.rstrip(" .!?…\"”’'"), ""
    if found := _LEAD.match(bare):
        lead, bare = found[1][0].lower() + found[1][1:], bare[found.end() :]
    did = _DID.match(bare)
    if not did or not _is_name(did["subject"]):
        return ""
    rest = _first_part(did["rest"])
    named = re.findall(r"\b[A-Z][A-Za-z]{2,}|\d+", rest)
    if not 3 <= len(rest.split()) <= _LONGEST or not named:
        return ""
    return " ".join(filter(None, (f"Who {did['verb']} {rest}", lead)))


def _finish_question(question: str, chunk: Chunk, *, titled: bool) -> str:
    """The question with the name of its document, where that is needed, and its mark."""
    title = " ".join((chunk.title or chunk.source).split()).replace("“", "").replace("”", "")
    return f"{question}, according to “{title[:MAX_TITLE].strip()}”?" if titled and title else f"{question}?"


def _is_name(text: str) -> bool:
    """Whether all its words that say something are written large, as those of a name are; no part of another clause."""
    said = [word for word in text.split() if word.casefold() not in STOP_WORDS]
    whole = not _EDGE.search(f" {text} ") and not _UNFIT & set(text.casefold().split())
    return whole and 0 < len(said) <= 6 and all(word[0].isupper() for word in said)


def _first_part(text: str) -> str:
    """A text up to where another clause begins; nothing where it is a list, which can't be cut."""
    edge = _CUT.search(text)
    part = (text[: edge.start()] if edge else text).strip()
    return "" if _EDGE.search(part) else part
