"""A second look at a passage: the sentence in it that is likeliest to answer, read by itself.

The evaluator reads English. Of a question or a passage in another language, the embedding model says how close in
meaning the question is to each sentence. Both come to numbers that a fitted layer weighs.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from crag.core.types import GradePart
from crag.evaluation.binding import PLACES, Binding, bind
from crag.evaluation.heads import Lexicon, clip, load_layer, weigh
from crag.models.cross_encoder import FOLDER, STOP, Reading, title_end
from crag.text.sentences import sentences
from crag.text.words import few_marks

SENTENCE_FEATURES = ("passage", "sentence", "less", "figures", "names")
"""Log-odds that the passage, and that its sentence answers, the smaller of both, and the shares of the question's
figures and of its names that stand in the passage, and neither in the sentence nor in its heading."""
MEANING_FEATURES = ("closest", "whole", "usual", "crossing", "passage", "figures")
"""Cosines of the question with the closest sentence, the whole passage and its middle sentence; whether only one of
question and passage is English; the log-odds that the passage answers, where neither is; and the share of the
question's figures that the passage has."""
FLOOR = -3.0
"""The log-odds from which on an English passage is looked at again; 2 % of the held-out ones that answer have less."""
SENTENCE_CHARS, SENTENCES = 700, 64
"""How much of a sentence is read, and of how many the meaning is compared."""
ODDS = 8.0
"""Log-odds are clipped here."""
LANGUAGE_CHARS = 2_000
QUESTION_ENGLISH, PASSAGE_ENGLISH = (0.7, 0.25), (0.7, 0.2)
"""The shares of words that English texts have, and of its commonest ones: a text with less of both is not English."""
ELSEWHERE = PLACES.index("elsewhere")

_WORD = re.compile(r"[^\W\d_]+")
Span = tuple[int, int]
Embed = Callable[[Sequence[str]], NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Look:
    """What a second look found: `values` for the layer of that name, the sentence [start, end), and what binds it."""

    layer: Literal["sentence", "meaning"]
    values: tuple[float, ...]
    start: int
    end: int
    binding: Binding


@dataclass(frozen=True, slots=True)
class SecondLayer:
    """Weights of the numbers that a look has, and a bias; their sum is the log-odds that the passage answers."""

    names: tuple[str, ...]
    weights: tuple[float, ...]
    bias: float

    def odds(self, look: Look) -> float:
        return weigh(self.weights, self.bias, look.values)

    def parts(self, look: Look, first: Sequence[GradePart]) -> tuple[GradePart, ...]:
        """What each reading adds to the log-odds. `first`: the same of the passage as a whole, its bias last."""
        adds = {name: weight * value for name, weight, value in zip(self.names, self.weights, look.values, strict=True)}
        known = dict(zip(self.names, look.values, strict=True))
        less = "sentence" if known.get("sentence", ODDS) < known["passage"] else "passage"
        adds[less] += adds.pop("less", 0.0)
        whole = adds.pop("passage")
        scale = whole / (sum(part.adds for part in first) or 1.0)
        parts = [GradePart(name=each.name, value=each.value, adds=scale * each.adds) for each in first[:-1]]
        for name, own in _PARTS.items():
            if own[0] in adds:
                parts.append(GradePart(name=name, value=known[own[0]], adds=sum(adds[each] for each in own)))
        return *parts, GradePart(name="bias", value=None, adds=self.bias + scale * first[-1].adds)


_PARTS = {
    "sentence": ("sentence",),
    "meaning": ("closest", "whole", "usual", "crossing"),
    "figures": ("figures",),
    "names": ("names",),
}


@cache
def load_second(folder: Path = FOLDER) -> dict[str, SecondLayer]:
    """The shipped layers by name; those that were not fitted are missing. Raises ModelError."""
    names = {"sentence": SENTENCE_FEATURES, "meaning": MEANING_FEATURES}
    found = {name: load_layer(name, features, folder) for name, features in names.items()}
    return {name: SecondLayer(names[name], *layer) for name, layer in found.items() if layer}


def is_english(text: str, lexicon: Lexicon, *, passage: bool = True) -> bool:
    """Whether the evaluator can read a text's first 2,000 characters; also of one without words.

    Capitalised words of a `passage` don't count: names are in no language.
    """
    words = _WORD.findall(few_marks(text[:LANGUAGE_CHARS]))
    folded = [word.casefold() for word in words if not (passage and word[0].isupper())]
    known, common = PASSAGE_ENGLISH if passage else QUESTION_ENGLISH
    return sum(word in STOP for word in folded) >= common * len(folded) or sum(
        word in STOP or lexicon.knows(word) for word in folded
    ) >= known * len(folded)


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
    bound = _bind(question, text, span)
    values = passage, sentence, min(passage, sentence), bound.figures[ELSEWHERE], bound.names[ELSEWHERE]
    return Look("sentence", values, *span, bound)


def look_at_meaning(question: str, text: str, passage: float | None, embed: Embed, asked: NDArray[np.float32]) -> Look:
    """The look at what a passage means. `asked`: the question's vector, of length 1, as those that `embed` gives.

    `passage`: the log-odds that the passage answers; None where only one of question and passage is English.
    """
    title = title_end(text)
    spans = [span for span in sentences(text) if span[0] >= title][:SENTENCES] or [(0, len(text))]
    vectors = embed([text, *(text[start : min(end, start + SENTENCE_CHARS)] for start, end in spans)])
    whole, *each = (float(cosine) for cosine in vectors @ asked)
    span = spans[each.index(max(each))]
    bound = _bind(question, text, span)
    cosines = max(each), whole, statistics.median(each)
    held = sum(bound.figures[: ELSEWHERE + 1])
    values = *cosines, float(passage is None), clip(passage or 0.0, ODDS), held
    return Look("meaning", values, *span, bound)


def _bind(question: str, text: str, span: Span) -> Binding:
    title, (start, end) = title_end(text), span
    return bind(question, text[start:end], text[:title], f"{text[title:start]} {text[end:]}")
