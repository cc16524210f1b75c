"""A second look at a passage: the sentence in it that is likeliest to answer, read by itself.

What both readings say, and where the question's figures and names stand, come to numbers that a fitted layer weighs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from crag.core.types import GradePart
from crag.evaluation.binding import PLACES, Binding, bind
from crag.evaluation.heads import Layer, Lexicon, clip, load_layer
from crag.models.cross_encoder import FOLDER, STOP, Reading, title_end
from crag.text.sentences import sentences
from crag.text.words import few_marks

SENTENCE_FEATURES = ("passage", "sentence", "less", "figures", "names")
"""Log-odds that the passage, and that its sentence answers, the smaller of both, and the shares of the question's
figures and of its names that stand in the passage, and neither in the sentence nor in its heading."""
FLOOR = -3.0
"""The log-odds from which on a passage is looked at again; 2 % of the held-out English ones that answer have less."""
SENTENCE_CHARS = 700
"""How much of a sentence is read."""
ODDS = 8.0
"""Log-odds are clipped here."""
LANGUAGE_CHARS = 2_000
ENGLISH = 0.7
"""The share of its words that an English text has in the lexicon, at least."""
SUPPOSED = 3
"""Words in the question's language, supposed beside those of a passage: "jacket 30, socks 4" says too little."""
ELSEWHERE = PLACES.index("elsewhere")

_WORD = re.compile(r"[^\W\d_]+")
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Look:
    """What a second look found: `values` for its layer, the sentence [start, end), and what binds it."""

    values: tuple[float, ...]
    start: int
    end: int
    binding: Binding


@dataclass(frozen=True, slots=True)
class SecondLayer:
    """Weighs the numbers that a look has: the log-odds that the passage answers."""

    fitted: Layer

    def odds(self, look: Look) -> float:
        return self.fitted.odds(look.values)

    def parts(self, look: Look, first: Sequence[GradePart]) -> tuple[GradePart, ...]:
        """What each reading adds to the log-odds. `first`: the same of the passage as a whole, its bias last."""
        known = dict(zip(SENTENCE_FEATURES, look.values, strict=True))
        adds = {name: weight * known[name] for name, weight in zip(known, self.fitted.weights, strict=True)}
        adds["sentence" if known["sentence"] < known["passage"] else "passage"] += adds.pop("less")
        whole = adds.pop("passage")
        scale = whole / (sum(part.adds for part in first) or 1.0)
        parts = [GradePart(name=each.name, value=each.value, adds=scale * each.adds) for each in first[:-1]]
        parts += [GradePart(name=name, value=known[name], adds=added) for name, added in adds.items()]
        return *parts, GradePart(name="bias", value=None, adds=self.fitted.bias + scale * first[-1].adds)


@cache
def load_second(folder: Path = FOLDER, *, english: bool = True) -> SecondLayer | None:
    """The shipped layer; None where it was not fitted. Raises ModelError."""
    layer = load_layer("sentence" if english else "sentence elsewhere", SENTENCE_FEATURES, folder)
    return SecondLayer(layer) if layer else None


def is_english(text: str, lexicon: Lexicon, asked: bool | None = None) -> bool:
    """Whether a text's first 2,000 characters are English.

    `asked`: of a passage, whether its question is English; None where the text is a question. Capitalised words of a
    passage don't count: names are in no language.
    """
    words = _WORD.findall(few_marks(text[:LANGUAGE_CHARS]))
    folded = [word.casefold() for word in words if asked is None or not word[0].isupper()]
    known = sum(word in STOP or lexicon.knows(word) for word in folded)
    supposed = 0 if asked is None else SUPPOSED
    return known + supposed * bool(asked) >= ENGLISH * (len(folded) + supposed)


def crosses_languages(question: str, text: str, lexicon: Lexicon) -> bool:
    """Whether one of the two alone is English."""
    return is_english(text, lexicon, english := is_english(question, lexicon)) != english


def likely_sentences(text: str, reading: Reading) -> list[Span]:
    """The sentence that holds the likeliest answer, and the one with most evidence; often they are one."""
    title = title_end(text)
    spans = [span for span in sentences(text) if span[0] >= title] or [(0, len(text))]
    holding = [span for span in spans if span[0] <= reading.start < span[1]]
    return list(dict.fromkeys([*holding[:1], max(spans, key=lambda span: reading.kept(*span))]))


def sentence_text(text: str, span: Span) -> str:
    """A sentence under the passage's title, as it is read."""
    title, (start, end) = title_end(text), span
    sentence = text[start : min(end, start + SENTENCE_CHARS)]
    return f"{text[:title]}\n{sentence}" if title else sentence


def look_at_sentence(question: str, text: str, span: Span, passage: float, sentence: float) -> Look:
    """The look at a sentence. `passage`, `sentence`: the log-odds that each answers."""
    passage, sentence = clip(passage, ODDS), clip(sentence, ODDS)
    title, (start, end) = title_end(text), span
    bound = bind(question, text[start:end], text[:title], f"{text[title:start]} {text[end:]}")
    values = passage, sentence, min(passage, sentence), bound.figures[ELSEWHERE], bound.names[ELSEWHERE]
    return Look(values, *span, bound)
