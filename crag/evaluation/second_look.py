"""A second look at a passage: the sentence in it that is likeliest to answer, read by itself.

The evaluator reads English. Of a question or a passage in another language, the embedding model says how close in
meaning the question is to each sentence, and which of its words they share. Both come to numbers that a fitted layer
weighs.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from crag.core.types import GradePart
from crag.evaluation.binding import PLACES, Binding, bind
from crag.evaluation.heads import Layer, Lexicon, clip, load_layer
from crag.models.cross_encoder import FOLDER, STOP, Reading, title_end
from crag.models.runtime import E5
from crag.text.sentences import sentences
from crag.text.words import few_marks

SENTENCE_FEATURES = ("passage", "sentence", "less", "figures", "names")
"""Log-odds that the passage, and that its sentence answers, the smaller of both, and the shares of the question's
figures and of its names that stand in the passage, and neither in the sentence nor in its heading."""
MEANING_FEATURES = ("closest", "whole", "usual", "crossing", "passage", "figures", "covered")
"""How near the closest sentence is to the question, the cosine of the whole passage, and how near its middle sentence
is; whether only one of question and passage is English; the log-odds that the passage answers, where neither is; and
the shares of the question's figures and of its words that the passage has."""
LAYERS = {"sentence": SENTENCE_FEATURES, "meaning": MEANING_FEATURES}
SHARED = 0.3
"""What sharing all the question's words adds to the cosine of a text in its language: chosen on XQuAD's train part."""
FLOOR = -3.0
"""The log-odds from which on an English passage is looked at again; 2 % of the held-out ones that answer have less."""
SENTENCE_CHARS, SENTENCES = 700, 64
"""How much of a sentence is read, and of how many the meaning is compared."""
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
    """What a second look found: `values` for the layer of that name, the sentence [start, end), and what binds it."""

    layer: Literal["sentence", "meaning"]
    values: tuple[float, ...]
    start: int
    end: int
    binding: Binding


@dataclass(frozen=True, slots=True)
class SecondLayer:
    """Weighs the numbers that a look has, by their names: the log-odds that the passage answers."""

    names: tuple[str, ...]
    fitted: Layer

    def odds(self, look: Look) -> float:
        return self.fitted.odds(look.values)

    def parts(self, look: Look, first: Sequence[GradePart]) -> tuple[GradePart, ...]:
        """What each reading adds to the log-odds. `first`: the same of the passage as a whole, its bias last."""
        known = dict(zip(self.names, look.values, strict=True))
        adds = {name: weight * known[name] for name, weight in zip(self.names, self.fitted.weights, strict=True)}
        less = "sentence" if known.get("sentence", ODDS) < known["passage"] else "passage"
        adds[less] += adds.pop("less", 0.0)
        whole = adds.pop("passage")
        scale = whole / (sum(part.adds for part in first) or 1.0)
        parts = [GradePart(name=each.name, value=each.value, adds=scale * each.adds) for each in first[:-1]]
        for name, own in _PARTS.items():
            if own[0] in adds:
                parts.append(GradePart(name=name, value=known[own[0]], adds=sum(adds[each] for each in own)))
        return *parts, GradePart(name="bias", value=None, adds=self.fitted.bias + scale * first[-1].adds)


_PARTS = {
    "sentence": ("sentence",),
    "meaning": ("closest", "whole", "usual", "crossing", "covered"),
    "figures": ("figures",),
    "names": ("names",),
}


@cache
def load_second(folder: Path = FOLDER) -> dict[str, SecondLayer]:
    """The shipped layers by name; those that were not fitted are missing. Raises ModelError."""
    found = {name: load_layer(name, features, folder) for name, features in LAYERS.items()}
    return {name: SecondLayer(LAYERS[name], layer) for name, layer in found.items() if layer}


def is_english(text: str, lexicon: Lexicon, asked: bool | None = None) -> bool:
    """Whether the evaluator can read a text's first 2,000 characters.

    `asked`: of a passage, whether its question is English; None where the text is a question. Capitalised words of a
    passage don't count: names are in no language.
    """
    words = _WORD.findall(few_marks(text[:LANGUAGE_CHARS]))
    folded = [word.casefold() for word in words if asked is None or not word[0].isupper()]
    known = sum(word in STOP or lexicon.knows(word) for word in folded)
    supposed = 0 if asked is None else SUPPOSED
    return known + supposed * bool(asked) >= ENGLISH * (len(folded) + supposed)


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


class Meaning:
    """A question as the embedding model reads it, in any language, to be compared with texts."""

    def __init__(self, question: str, model: E5) -> None:
        """Raises ModelError."""
        self._model, self._vector = model, model.embed_question(question)
        [self._asked] = model.pieces([question])

    def near(self, texts: Sequence[str], *, crossing: bool) -> list[float]:
        """How near each text is: its cosine, and what the words add that it shares with the question.

        `crossing`: only one of the two is English, so they share few words, whatever they say.
        """
        return [_nearness(cosine, self._share(pieces), crossing) for cosine, pieces in self._compare(texts)]

    def look(self, question: str, text: str, passage: float | None) -> Look:
        """The look at what a passage means.

        `passage`: the log-odds that the passage answers; None where only one of question and passage is English.
        """
        title = title_end(text)
        spans = [span for span in sentences(text) if span[0] >= title][:SENTENCES] or [(0, len(text))]
        said = [text[start : min(end, start + SENTENCE_CHARS)] for start, end in spans]
        (whole, _), *parts = self._compare([text, *said])
        near = [_nearness(cosine, self._share(pieces), passage is None) for cosine, pieces in parts]
        span = spans[near.index(max(near))]
        bound = _bind(question, text, span)
        first = float(passage is None), clip(passage or 0.0, ODDS), sum(bound.figures[: ELSEWHERE + 1])
        covered = self._share(frozenset[str]().union(*(pieces for _, pieces in parts)))
        return Look("meaning", (max(near), whole, statistics.median(near), *first, covered), *span, bound)

    def _compare(self, texts: Sequence[str]) -> Iterator[tuple[float, Collection[str]]]:
        cosines = self._model.embed(texts) @ self._vector
        return zip(map(float, cosines), self._model.pieces(texts), strict=True)

    def _share(self, pieces: Collection[str]) -> float:
        """The share of the question's word pieces that are among these, by rarity; 1 where it has none that tell."""
        total = sum(self._asked.values())
        return sum(rarity for piece, rarity in self._asked.items() if piece in pieces) / total if total else 1.0


def _nearness(cosine: float, share: float, crossing: bool) -> float:
    return cosine if crossing else cosine + SHARED * share


def _bind(question: str, text: str, span: Span) -> Binding:
    title, (start, end) = title_end(text), span
    return bind(question, text[start:end], text[:title], f"{text[title:start]} {text[end:]}")
