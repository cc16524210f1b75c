"""Windows: pairs as short as what a second look reads, the sentence or the row that is likeliest to answer.

English ones are cut from the pairs of all sets; those of other languages from XQuAD's train part, where question and
text are of one language or of two. Much of what is wrong is near: the sentence beside the answer, the one with most
words of the question, and the same sentence asked about another year, number or name of its passage.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from corpora.altering import found, part, windows
from corpora.near_misses import make_near_miss, swap_within
from corpora.pair import Pair, Spot, held_out
from corpora.pairs import Corpus, untitled
from corpora.published_sets import read_xquad
from crag.text.sentences import sentences
from crag.text.words import significant_stems

LANGUAGES = "de es ro vi tr ru el ar hi th zh".split()
LONGEST = 600
"""Characters of a window: a second look reads no more."""
PLAIN, SWAPPED, FOREIGN = 40_000, 8_000, 24_000
"""Windows of an epoch: of English pairs, of swapped questions at most, and of pairs in other languages."""


class Windows:
    """The train data of a reader of windows; `epoch` draws pairs from it, as a corpus does."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus, self.data = corpus, corpus.data

    def epoch(self, seed: int) -> list[Pair]:
        """All pairs of one pass, the same for the same seed, those held out among them."""
        dice = random.Random(seed)
        pairs = [pair for pair in self._pairs(seed) if pair.label in (0.0, 1.0)]
        plain = [window for pair in pairs for window in shorten(pair, dice)]
        swapped = [window for pair in pairs for window in swap(pair, dice)]
        foreign = list(read_languages(self.data, dice))
        made = [*_draw(plain, PLAIN, dice), *_draw(swapped, SWAPPED, dice), *_draw(foreign, FOREIGN, dice)]
        return [pair for pair in made if len(pair.text) <= LONGEST]

    def checks(self) -> dict[str, list[Pair]]:
        """Held-out pairs by what they tell."""
        kinds: dict[str, list[Pair]] = {}
        for pair in self.epoch(1):
            if held_out(pair.group):
                kinds.setdefault(pair.source.replace("asked ", "swapped "), []).append(pair)
        return {kind: pairs for kind, pairs in kinds.items() if len({pair.label for pair in pairs}) == 2}

    def _pairs(self, seed: int) -> Iterator[Pair]:
        yield from self._corpus.sources.epoch(seed)
        for article in self._corpus.articles:
            title = article["title"].replace("_", " ")
            for paragraph in article["paragraphs"]:
                for qa in paragraph["qas"]:
                    pair = Pair(qa["question"].strip(), paragraph["context"], 1.0, article["title"], "squad", title)
                    if qa.get("is_impossible"):
                        yield replace(pair, label=0.0, source="squad unanswerable")
                    else:
                        yield replace(pair, spots=_spots(qa))
        for row in self._corpus.natural:
            gold = row["ctxs"][0]
            spots = found(gold["text"], row["answers"])
            group = self._corpus.group(gold["title"])
            yield Pair(row["question"], gold["text"], 1.0, group, "nq passage", gold["title"], spots)
        for row in self._corpus.popqa:
            for passage in row["passages"]:
                if passage["label_title"] == passage["label_answer_in_text"]:
                    text, label, title = untitled(passage), float(passage["label_title"]), passage["title"]
                    spots = found(text, row["answers"]) if label else ()
                    group = self._corpus.group(row["s_wiki_title"])
                    yield Pair(row["question"], text, label, group, "popqa passage", title, spots)


def _spots(qa: Mapping[str, Any]) -> tuple[Spot, ...]:
    return tuple({(each["answer_start"], each["answer_start"] + len(each["text"])) for each in qa["answers"]})


def shorten(pair: Pair, dice: random.Random) -> Iterator[Pair]:
    """Windows of a pair: with and without the answer; the likeliest one where its text has none."""
    if pair.label:
        marked = pair if pair.spots or pair.keeps else None
        yield from windows(marked, dice) if marked else ()
        if marked and dice.random() < 0.5:
            yield from (replace(each, label=0.0, source="near window") for each in _likeliest(marked, dice, apart=True))
    else:
        yield from _likeliest(pair, dice)


def swap(pair: Pair, dice: random.Random) -> Iterator[Pair]:
    """The sentence that answers, asked about another year, number or name of its passage; and as it was asked."""
    if not (pair.label and pair.spots):
        return
    spans = [span for span in sentences(pair.text) if span[0] <= pair.spots[0][0] < span[1]]
    others = {} if "tsqa" in pair.source else swap_within(pair.question, pair.text, pair.spots, dice)
    others["miss"] = make_near_miss(pair.question, pair.text, dice)
    for kind, question in others.items():
        for span in spans if question != pair.question else ():
            window = part(pair, *span)
            new = set(question.split()) - set(pair.question.split())
            if kind != "miss" and any(word.strip("?,.'\"()") in window.text for word in new):
                continue  # it may answer this as well
            wrong = replace(window, question=question, label=0.0, spots=(), keeps=(), source=f"swapped {kind}")
            yield wrong
            if dice.random() < 0.5:
                yield replace(window, source=f"asked {kind}")


def read_languages(data: Path, dice: random.Random) -> Iterator[Pair]:
    """XQuAD's train part: each question in every language, put to windows of the same one or of another."""
    texts = {language: read_xquad(data, language, "train") for language in ("en", *LANGUAGES)}
    for at, article in enumerate(texts["en"]):
        for own, paragraph in enumerate(article["paragraphs"]):
            for number in range(len(paragraph["qas"])):
                for asked, said in _ways(dice):
                    paragraphs = texts[said][at]["paragraphs"]
                    question = texts[asked][at]["paragraphs"][own]["qas"][number]["question"]
                    text, spots = paragraphs[own]["context"], _spots(paragraphs[own]["qas"][number])
                    kind = "one language" if asked == said else "across languages"
                    title = article.get("title", "").replace("_", " ") if dice.random() < 0.5 else ""
                    pair = Pair(question, text, 1.0, f"xquad {at}", kind, title, spots)
                    yield from shorten(pair, dice)
                    if asked == said:
                        yield from swap(pair, dice)
                    other = dice.choice([each["context"] for n, each in enumerate(paragraphs) if n != own])
                    if dice.random() < 0.5:
                        yield from _likeliest(replace(pair, text=other, label=0.0, spots=(), keeps=()), dice)


def _ways(dice: random.Random) -> Iterator[tuple[str, str]]:
    for language in LANGUAGES:
        yield dice.choice([(language, language), (language, "en"), ("en", language)])
    for _ in range(2):
        asked, said = dice.sample(LANGUAGES, 2)
        yield asked, said


def _likeliest(pair: Pair, dice: random.Random, *, apart: bool = False) -> Iterator[Pair]:
    """The sentence with most words of the question, or any; `apart`: of those that hold no answer."""
    spans = sentences(pair.text)
    if apart:
        marks = (*pair.spots, *(pair.keeps or ()))
        spans = [span for span in spans if not any(a < span[1] and span[0] < b for a, b in marks)]
    if not spans:
        return
    asked = significant_stems(pair.question)
    most = max(spans, key=lambda span: len(asked & significant_stems(pair.text[slice(*span)])))
    span = most if dice.random() < 0.7 else dice.choice(spans)
    yield replace(part(pair, *span), spots=(), keeps=(), label=0.0)


def _draw(pairs: Sequence[Pair], most: int, dice: random.Random) -> list[Pair]:
    return dice.sample(pairs, min(most, len(pairs)))
