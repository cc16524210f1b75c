"""Pairs of a question (or claim) and a text with a label, made anew for every epoch, from data that may train.

Easy negatives teach nothing (weighted word overlap tells a paragraph from another of its article at AUC 0.97), so
most negatives here are close: the paragraph an unanswerable question was written about, the sentences around the
answer, paragraphs that an embedding model puts next to the question, retrieved passages without an answer, the right
paragraph asked with another name or number in the question, a claim with another answer in it.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpora.altering import (
    altered,
    around,
    attacked,
    changed,
    claims,
    cut,
    found,
    holds,
    joined,
    part,
    renamed,
    shortened,
    windows,
)
from corpora.filings import filing_pairs
from corpora.pair import Pair, held_out
from corpora.rows import read_articles, read_rows
from corpora.sources import Sources
from corpora.sources.documents import Documents
from corpora.sources.flattering import flattered, nonsense
from crag.text.sentences import sentences as sentence_spans

__all__ = ["Corpus", "held_out", "untitled"]

Embed = Callable[[Sequence[str]], NDArray[np.float32]]

TITLED = 0.75
"""How often a text that is no table has its title before it, as chunks of a library have."""
NEAR = 25
"""Passages near a question, of its side of the split, among which wrong ones are drawn."""
FLATTERED, NONSENSE = 9_000, 800
"""Pairs of an epoch whose text flatters the question, and whose text says nothing at all."""


class Corpus:
    """The train data, read once; `epoch` draws pairs from it."""

    def __init__(self, data: Path, embed: Embed) -> None:
        self.data, self._embed = data, embed

    def epoch(self, seed: int) -> list[Pair]:
        """All pairs of one pass, the same for the same seed, those held out among them."""
        dice = random.Random(seed)
        made = [*self._squad(dice), *self._nq(dice), *self._popqa(dice), *self._multihop(dice), *self._scifact(dice)]
        made = [pair for pair in made if self._whole(pair)]
        made += self._copied(dice)
        made += self.sources.epoch(seed)
        made = [attacked(pair, dice) if dice.random() < 0.02 else pair for pair in made]
        made = [pair if _tabular(pair) or dice.random() < TITLED else replace(pair, title="") for pair in made]
        return [*made, *filing_pairs(dice, 900), *flattered(made, FLATTERED, dice), *nonsense(made, NONSENSE, dice)]

    @cached_property
    def sources(self) -> Sources:
        """The sets of the train folder, and which document each text of any source belongs to."""
        known = Documents()
        for article in self.articles:
            contexts = [paragraph["context"] for paragraph in article["paragraphs"]]
            known.add(contexts, article["title"], article["title"], parts=True)
        for title, text in self.pool:
            known.add([text], title)
        for row in read_rows(self.data / "scifact/scifact_corpus.jsonl"):
            known.add([" ".join(sentence.strip() for sentence in row["sentences"])], row["title"])
        return Sources(self.data, known)

    def group(self, title: str) -> str:
        """The document that splits go by, one and the same for all sources."""
        return self.sources.documents.group("", title)

    def _whole(self, pair: Pair) -> bool:
        """Whether the pair's text is of a document on its question's side of the split."""
        return not pair.title or held_out(pair.group) == held_out(self.group(pair.title))

    @cached_property
    def articles(self) -> list[dict[str, Any]]:
        """SQuAD articles, of version 2 where there is one."""
        second = read_articles(self.data, "v2_train")
        first = read_articles(self.data, "v1_train")
        asked = {qa["question"] for a in second for p in a["paragraphs"] for qa in p["qas"]}
        titles = {article["title"]: article for article in second}
        for article in first:
            if article["title"] not in titles:
                second.append(article)
                continue
            # The same article: its questions that version 2 left out join the same paragraphs.
            known = {p["context"]: p for p in titles[article["title"]]["paragraphs"]}
            for paragraph in article["paragraphs"]:
                extra = [qa for qa in paragraph["qas"] if qa["question"] not in asked]
                if paragraph["context"] in known:
                    known[paragraph["context"]]["qas"] += extra
                elif extra:
                    titles[article["title"]]["paragraphs"].append({"context": paragraph["context"], "qas": extra})
        return second

    @cached_property
    def _articles(self) -> list[dict[str, Any]]:
        """The articles with the paragraphs nearest to each question."""
        for article in self.articles:
            contexts = [paragraph["context"] for paragraph in article["paragraphs"]]
            questions = [qa["question"] for p in article["paragraphs"] for qa in p["qas"]]
            close = self._embed(questions) @ self._embed(contexts).T
            article["near"] = [[int(n) for n in np.argsort(-row)[:12]] for row in close]
            article["close"] = close
            spoken = [a["text"] for p in article["paragraphs"] for qa in p["qas"] for a in qa["answers"][:1]]
            article["answers"] = list(dict.fromkeys(spoken))
        return self.articles

    def _squad(self, dice: random.Random) -> Iterator[Pair]:
        for article in self._articles:
            group, title = article["title"], article["title"].replace("_", " ")
            contexts = [paragraph["context"] for paragraph in article["paragraphs"]]
            asked = [(number, qa) for number, p in enumerate(article["paragraphs"]) for qa in p["qas"]]
            for row, (number, qa) in enumerate(asked):
                question, context = qa["question"].strip(), contexts[number]
                spots = tuple({(a["answer_start"], a["answer_start"] + len(a["text"])) for a in qa["answers"]})
                close = float(article["close"][row, number])
                base = Pair(question, context, 1.0, group, "squad paragraph", title, spots, closeness=close)
                base = replace(base, keeps=around(context, spots))
                if qa.get("is_impossible"):
                    yield cut(replace(base, label=0.0, keeps=(), source="squad unanswerable"), dice)
                    lures = qa.get("plausible_answers") or []
                    marks = tuple((a["answer_start"], a["answer_start"] + len(a["text"])) for a in lures)
                    if dice.random() < 0.6:
                        for run in windows(replace(base, spots=marks), dice):
                            if run.label:
                                yield replace(run, label=0.0, spots=(), keeps=(), source="squad lure window")
                    continue
                yield cut(base, dice)
                for run in windows(base, dice):
                    if dice.random() < 0.6:
                        yield run
                if dice.random() < 0.9:
                    near = [n for n in article["near"][row] if n != number]
                    near = [n for n in near if not any(a["text"] in contexts[n] for a in qa["answers"])]
                    if near:
                        other = near[min(int(dice.expovariate(0.5)), len(near) - 1)]
                        pair = replace(base, text=contexts[other], label=0.0, spots=(), keeps=(), source="squad other")
                        yield cut(replace(pair, closeness=float(article["close"][row, other])), dice)
                yield from changed(base, article["answers"], dice)
                yield from claims(base, [a["text"] for a in qa["answers"][:1]], article["answers"], dice)

    @cached_property
    def natural(self) -> list[dict[str, Any]]:
        return read_rows(self.data / "nq/train.jsonl")

    @cached_property
    def popqa(self) -> list[dict[str, Any]]:
        """PopQA's questions with `name`, whom or what each asks about, and `asks`, the question without it."""
        rows = read_rows(self.data / "popqa/train.jsonl")
        for row in rows:
            row["name"] = re.sub(r"\s*\(.*\)$", "", row["s_wiki_title"])
            row["asks"] = row["question"].replace(row["name"], "…")
        return rows

    @cached_property
    def pool(self) -> list[tuple[str, str]]:
        """Title and text of every Wikipedia passage at hand: where NQ's and PopQA's questions find wrong ones."""
        found = [(row["ctxs"][0]["title"], row["ctxs"][0]["text"]) for row in self.natural]
        found += [(p["title"], untitled(p)) for row in self.popqa for p in row["passages"]]
        for row in json.loads((self.data / "multihop/hotpotqa_train.json").read_text("utf-8")):
            found += [(title, "".join(sentences)) for title, sentences in row["context"]]
        for row in json.loads((self.data / "multihop/musique_train.json").read_text("utf-8")):
            found += [(passage["title"], passage["paragraph_text"]) for passage in row["paragraphs"]]
        return list(dict.fromkeys(found))

    @cached_property
    def _near(self) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """For each question of NQ, then of PopQA: cosines to the pool, and the nearest of it."""
        questions = [row["question"] for row in [*self.natural, *self.popqa]]
        close = self._embed(questions) @ self._embed([f"{title}\n{text}" for title, text in self.pool]).T
        return close, np.argsort(-close, axis=1)[:, : 8 * NEAR]

    def _wrong(self, row: int, base: Pair, answers: Sequence[str], count: int, dice: random.Random) -> Iterator[Pair]:
        """Passages of the pool that are near the question and hold no answer; the nearest come most often."""
        close, near = self._near
        side = held_out(base.group)
        fit = (int(n) for n in near[row] if held_out(self.group(self.pool[int(n)][0])) == side)
        texts = ((n, self.pool[n][1]) for n in fit)
        left = list(islice((n for n, text in texts if text != base.text and not holds(text, answers)), NEAR))
        for _ in range(min(count, len(left))):
            other = left.pop(min(int(dice.expovariate(0.35)), len(left) - 1))
            title, text = self.pool[other]
            pair = replace(base, text=text, title=title, label=0.0, spots=(), keeps=())
            yield cut(replace(pair, closeness=float(close[row, other])), dice)

    def _nq(self, dice: random.Random) -> Iterator[Pair]:
        at = {passage: number for number, passage in enumerate(self.pool)}
        spoken = [row["answers"][0] for row in self.natural]
        for number, row in enumerate(self.natural):
            gold = row["ctxs"][0]
            group = self.group(gold["title"])
            spots = found(gold["text"], row["answers"])
            close = float(self._near[0][number, at[gold["title"], gold["text"]]])
            base = Pair(row["question"], gold["text"], 1.0, group, "nq passage", gold["title"], spots, closeness=close)
            base = replace(base, keeps=around(gold["text"], spots) if spots else None)
            yield cut(base, dice)
            yield cut(replace(base, title=""), dice)
            if spots:
                yield from windows(base, dice)
                yield from windows(base, dice)
                yield from claims(base, row["answers"][:1], spoken, dice)
            yield from self._wrong(number, replace(base, source="nq other"), row["answers"], 3, dice)

    def _popqa(self, dice: random.Random) -> Iterator[Pair]:
        """Where the paper's label (the title is the subject's page) and the text's disagree, something between."""
        for number, row in enumerate(self.popqa):
            alike = [other["name"] for other in self.popqa if other["asks"] == row["asks"]]
            group = self.group(row["s_wiki_title"])
            for passage in row["passages"]:
                by_title, by_text = passage["label_title"], passage["label_answer_in_text"]
                label = {(1, 1): 1.0, (0, 0): 0.0, (1, 0): 0.6, (0, 1): 0.2}[by_title, by_text]
                text = untitled(passage)
                spots = found(text, row["answers"]) if label == 1.0 else ()
                base = Pair(row["question"], text, label, group, "popqa passage", passage["title"], spots)
                if spots or label == 0.0:
                    base = replace(base, keeps=around(text, spots))
                if not self._whole(base):
                    continue
                yield base
                if label in (0.0, 1.0) and dice.random() < 0.4:
                    yield replace(base, title="")
                if spots:
                    yield from windows(base, dice)
                    question = renamed(row["question"], row["name"], alike, dice)
                    if question != row["question"]:
                        yield replace(base, question=question, label=0.0, spots=(), keeps=(), source="other name")
            wrong = Pair(row["question"], "", 0.0, group, "popqa other")
            yield from self._wrong(len(self.natural) + number, wrong, row["answers"], 1, dice)

    def searched(self) -> Iterator[Pair]:
        """Held-out questions of SQuAD, NQ and PopQA with what a search finds: one right passage, or few, of ten."""
        dice = random.Random(12)
        for article in self._articles:
            if not held_out(article["title"]):
                continue
            contexts = [paragraph["context"] for paragraph in article["paragraphs"]]
            asked = [(number, qa) for number, p in enumerate(article["paragraphs"]) for qa in p["qas"]]
            for row in dice.sample(range(len(asked)), min(40, len(asked))):
                number, qa = asked[row]
                base = Pair(qa["question"].strip(), "", 0.0, article["title"], "squad", article["title"])
                for n in dict.fromkeys([number, *article["near"][row][:6]]):
                    right = n == number and not qa.get("is_impossible")
                    if right or not any(a["text"] in contexts[n] for a in qa["answers"]):
                        yield replace(base, text=contexts[n], label=float(right))
        for number, row in enumerate(self.natural):
            gold = row["ctxs"][0]
            if held_out(group := self.group(gold["title"])):
                base = Pair(row["question"], gold["text"], 1.0, group, "nq", gold["title"])
                yield base
                yield from self._wrong(number, base, row["answers"], 9, dice)
        for number, row in enumerate(self.popqa):
            if held_out(group := self.group(row["s_wiki_title"])):
                base = Pair(row["question"], "", 0.0, group, "popqa")
                yield from self._wrong(len(self.natural) + number, base, row["answers"], 4, dice)

    def _copied(self, dice: random.Random) -> Iterator[Pair]:
        """Sentences as claims: supported by the text they stand in, not by the sentences around them."""
        texts = [(a["title"], p["context"]) for a in self._articles for p in a["paragraphs"]]
        texts += [(self.group(row["ctxs"][0]["title"]), row["ctxs"][0]["text"]) for row in self.natural]
        for group, text in texts:
            spans = [span for span in sentence_spans(text) if 40 < span[1] - span[0] < 300]
            if len(spans) < 3 or dice.random() < 0.4:
                continue
            at = dice.randrange(len(spans))
            claim = shortened(text[slice(*spans[at])], dice)
            first, last = max(0, at - dice.randint(0, 2)), min(len(spans), at + dice.randint(1, 3))
            begin, end = spans[first][0], spans[last - 1][1]
            kept = ((spans[at][0] - begin, spans[at][1] - begin),)
            base = Pair(claim, text[begin:end], 1.0, group, "copied", weight=0.7, keeps=kept)
            rest = [text[slice(*span)] for number, span in enumerate(spans) if number != at]
            begin = dice.randrange(len(rest))
            if dice.random() < 0.5:
                yield base
            else:
                yield replace(base, text=" ".join(rest[begin : begin + dice.randint(1, 4)]), label=0.0, keeps=())
            if (other := altered(claim, text, dice)) != claim:
                yield replace(base, question=other, label=0.0, keeps=())
            if dice.random() < 0.1:
                yield replace(base, text=claim + "?", question=claim + "?", label=0.0, keeps=(), source="echo")

    def _multihop(self, dice: random.Random) -> Iterator[Pair]:
        """A passage that a question of several steps needs answers a part of it."""
        for row in json.loads((self.data / "multihop/hotpotqa_train.json").read_text("utf-8")):
            facts = {(title, index) for title, index in row["supporting_facts"]}
            pages = {title for title, _ in facts}
            group = self.group(min(pages))
            for title, sentences in row["context"]:
                text, kept = joined(sentences, {index for page, index in facts if page == title}, "")
                pair = Pair(row["question"], text, 0.8 * (title in pages), group, "multihop", keeps=kept)
                if title in pages or dice.random() < 0.5:
                    yield cut(replace(pair, title=title, weight=0.5), dice)
                index = dice.randrange(len(sentences))
                if (title, index) in facts or dice.random() < 0.2:
                    label = 0.8 * ((title, index) in facts)
                    text = sentences[index].strip()
                    kept = ((0, len(text)),) if label and text else ()
                    yield replace(pair, title=title, text=text, label=label, weight=0.5, keeps=kept)
        for row in json.loads((self.data / "multihop/musique_train.json").read_text("utf-8")):
            group = self.group(min(p["title"] for p in row["paragraphs"] if p["is_supporting"]))
            for passage in row["paragraphs"]:
                if passage["is_supporting"] or dice.random() < 0.2:
                    label, text = 0.7 * passage["is_supporting"], passage["paragraph_text"]
                    pair = Pair(row["question"], text, label, group, "multihop", passage["title"], weight=0.5)
                    pair = pair if label else replace(pair, keeps=())
                    yield cut(pair, dice)

    @cached_property
    def _abstracts(self) -> tuple[dict[int, dict[str, Any]], list[dict[str, Any]], list[list[int]]]:
        corpus = read_rows(self.data / "scifact/scifact_corpus.jsonl")
        claims = read_rows(self.data / "scifact/scifact_claims_train.jsonl")
        vectors = self._embed([f"{row['title']} {row['sentences'][0]}" for row in corpus])
        close = self._embed([claim["claim"] for claim in claims]) @ vectors.T
        near = [[corpus[int(n)]["doc_id"] for n in np.argsort(-row)[:10]] for row in close]
        return {row["doc_id"]: row for row in corpus}, claims, near

    def _scifact(self, dice: random.Random) -> Iterator[Pair]:
        corpus, claims, near = self._abstracts
        for claim, closest in zip(claims, near, strict=True):
            group = self.group(corpus[min(claim["cited_doc_ids"])]["title"])
            for cited in claim["cited_doc_ids"]:
                document = corpus[cited]
                sentences = [sentence.strip() for sentence in document["sentences"]]
                facts = {index for part in claim["evidence"].get(str(cited), []) for index in part["sentences"]}
                base = Pair(claim["claim"], "", 0.0, group, "scifact window", document["title"], keeps=())
                for index in sorted(facts):
                    yield replace(base, text=sentences[index], label=1.0, keeps=((0, len(sentences[index])),))
                    low, high = max(0, index - dice.randint(0, 2)), index + 1 + dice.randint(0, 1)
                    text, kept = joined(sentences[low:high], {fact - low for fact in facts})
                    yield replace(base, text=text, label=1.0, keeps=kept)
                rest = [index for index in range(len(sentences)) if index not in facts]
                for index in dice.sample(rest, min(3, len(rest))):
                    yield replace(base, text=sentences[index])
                text, kept = joined(sentences, facts)
                whole = replace(base, text=text, source="scifact abstract", weight=0.5)
                whole = part(replace(whole, keeps=kept), 0, 1500)
                yield replace(whole, label=float(bool(whole.keeps)))
            other = corpus[dice.choice([number for number in closest if number not in claim["cited_doc_ids"]])]
            text = dice.choice(other["sentences"]).strip()
            yield Pair(claim["claim"], text, 0.0, group, "scifact window", other["title"], keeps=())


def _tabular(pair: Pair) -> bool:
    """Whether the text is a chunk of a table, which is nothing without its title and header."""
    return pair.source.endswith((" table", " page"))


def untitled(passage: dict[str, Any]) -> str:
    return str(passage["text"]).removeprefix(passage["title"]).strip()
