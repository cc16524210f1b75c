"""The data sets of the evaluator benchmark, each an adapter from the shared data folder to rows.

Where a text has a title, the evaluator is given "title, line break, text": the app grades a chunk with its document's
title in front. What that is worth is shown once, on PopQA.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.evaluator_graders import Cosine
from benchmarks.evaluator_library import retrieval, spread, top_chunks
from benchmarks.evaluator_row import DataSet, Row
from benchmarks.xquad import LANGUAGES as ALL_LANGUAGES
from corpora.near_misses import swap_within
from corpora.published_sets import read_xquad
from corpora.rows import read_articles, read_rows

LANGUAGES = [each for each in ALL_LANGUAGES if each != "en"]
SWAPS = 150
"""Questions of a kind whose figure or name is swapped, at most."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The data folder, the embedding model for near negatives, and how many questions of each set (0: all)."""

    data: Path
    cosine: Cosine
    limit: int = 0

    def questions(self, *names: str) -> list[dict[str, Any]]:
        """The rows of JSON Lines files, those of each cut to the limit."""
        return [row for name in names for row in spread(read_rows(self.data / name), self.limit)]


Maker = Callable[[Sources], DataSet]


def titled(passage: dict[str, Any]) -> str:
    return f"{passage['title']}\n{passage['text']}"


# ---- retrieved passages --------------------------------------------------------------------------------------------

Pick = Callable[[dict[str, Any]], int | None]
"""A passage's label; None leaves it out."""


def popqa(title: str, about: str, pick: Pick, read: Callable[[dict[str, Any]], str] = titled) -> Maker:
    def make(sources: Sources) -> DataSet:
        labelled = [
            (row, each, pick(each)) for row in sources.questions("popqa/test.jsonl") for each in row["passages"]
        ]
        rows = [Row(str(row["id"]), row["question"], read(each), y) for row, each, y in labelled if y is not None]
        return DataSet(title=title, about=about, rows=rows)

    return make


def clean(passage: dict[str, Any]) -> int | None:
    same = passage["label_title"] == passage["label_answer_in_text"]
    return int(passage["label_title"]) if same else None


def nomiracl(sources: Sources) -> DataSet:
    parts = ("nomiracl/nomiracl_en_relevant.jsonl", "nomiracl/nomiracl_en_non_relevant.jsonl")
    rows = [
        Row(f"{row['query_id']} {row['subset']}", row["question"], titled(passage), int(row["any_relevant"]))
        for row in sources.questions(*parts)
        for passage in row["passages"]
    ]
    about = "the best of a question's ten scores; is any of the ten passages relevant, as people judged?"
    return DataSet(title="NoMIRACL", about=about, rows=rows, judged="question")


def clapnq(sources: Sources) -> DataSet:
    rows = [
        Row(row["id"], row["input"], titled(row["passages"][0]), label)
        for label, part in ((1, "answerable"), (0, "unanswerable"))
        for row in sources.questions(f"clapnq/{part}.jsonl")
    ]
    return DataSet(title="ClapNQ", about="does the passage answer, or is it only on the topic?", rows=rows)


def finance(sources: Sources) -> DataSet:
    asked = spread(retrieval().financebench(sources.data), sources.limit)
    names = {question.source for question in asked} if sources.limit else ()
    found = top_chunks(sources.data / "financebench" / "pdfs", [question.text for question in asked], names)
    rows = [
        Row(
            str(number),
            question.text,
            chunk.graded_text(),
            int(chunk.source == question.source and chunk.page in question.pages),
        )
        for number, (question, chunks) in enumerate(zip(asked, found, strict=True))
        for chunk in chunks
    ]
    about = "chunks of a gold page against the other retrieved chunks; the product's own search over all PDFs"
    return DataSet(title="FinanceBench", about=about, rows=rows, use="dev")


# ---- paragraphs ----------------------------------------------------------------------------------------------------


def squad2(sources: Sources) -> DataSet:
    articles = read_articles(sources.data, "v2_test")
    asked = [(part["context"], qa) for article in articles for part in article["paragraphs"] for qa in part["qas"]]
    rows = [
        Row(qa["id"], qa["question"], context, int(not qa["is_impossible"]))
        for context, qa in spread(asked, sources.limit)
    ]
    about = "own paragraph, without a title: answerable, or a question written so that it is not?"
    return DataSet(title="SQuAD 2.0, answerable", about=about, rows=rows)


def squad_other(title: str, kinds: tuple[str, ...]) -> Maker:
    def make(sources: Sources) -> DataSet:
        rows = []
        for article in squad_articles(sources.data):
            paragraphs, asked = article["paragraphs"], spread(article["asked"], sources.limit)
            close = sources.cosine.embed([qa["question"] for _, qa in asked]) @ sources.cosine.embed(paragraphs).T
            for row, (own, qa) in enumerate(asked):
                others = without_answer(paragraphs, own, qa)
                if len(others) < 2:
                    continue
                nearest = others[int(np.argmax(close[row][others]))]
                drawn = random.Random(qa["id"]).choice([each for each in others if each != nearest])
                chosen = {"random": drawn, "nearest": nearest}
                rows.append(Row(qa["id"], qa["question"], paragraphs[own], 1))
                rows += [Row(qa["id"], qa["question"], paragraphs[chosen[kind]], 0) for kind in kinds]
        what = " and ".join(f"one {kind}" for kind in kinds)
        about = f"own paragraph against {what} other of the same article that does not hold the answer"
        return DataSet(title=title, about=about, rows=rows)

    return make


def squad_articles(data: Path) -> list[dict[str, Any]]:
    """Articles of both versions: distinct paragraphs, and each answerable question once with its paragraph's place."""
    merged: dict[str, dict[str, Any]] = {}
    seen: set[str] = set()
    for version in ("v1_test", "v2_test"):
        for article in read_articles(data, version):
            kept = merged.setdefault(article["title"], {"paragraphs": [], "asked": []})
            for paragraph in article["paragraphs"]:
                if paragraph["context"] not in kept["paragraphs"]:
                    kept["paragraphs"].append(paragraph["context"])
                place = kept["paragraphs"].index(paragraph["context"])
                new = [qa for qa in paragraph["qas"] if not qa["is_impossible"] and qa["id"] not in seen]
                kept["asked"] += [(place, qa) for qa in new]
                seen |= {qa["id"] for qa in new}
    return list(merged.values())


def without_answer(paragraphs: list[str], own: int, qa: dict[str, Any]) -> list[int]:
    """The places of the other paragraphs that hold none of the answers."""
    answers = [answer["text"].casefold() for answer in qa["answers"]]
    return [
        place
        for place, text in enumerate(paragraphs)
        if place != own and not any(answer in text.casefold() for answer in answers)
    ]


def swapped(kind: str) -> Maker:
    def make(sources: Sources) -> DataSet:
        dice, rows = random.Random(kind), []
        for article in squad_articles(sources.data):
            for own, qa in article["asked"]:
                text = article["paragraphs"][own]
                spots = [(each["answer_start"], each["answer_start"] + len(each["text"])) for each in qa["answers"]]
                other = swap_within(qa["question"], text, spots, dice).get(kind)
                if other:
                    rows += [Row(qa["id"], qa["question"], text, 1), Row(f"{qa['id']} swapped", other, text, 0)]
        about = f"the question as asked, and with another {kind} that stands in the passage"
        return DataSet(title=f"SQuAD, another {kind} of the passage", about=about, rows=rows[: 2 * SWAPS])

    return make


def xquad(title: str, pairs: Sequence[tuple[str, str]]) -> Maker:
    def make(sources: Sources) -> DataSet:
        dice, rows = random.Random(0), []
        for asked, said in pairs:
            questions, texts = (read_xquad(sources.data, language, "test") for language in (asked, said))
            for at, (article, paragraphs) in enumerate(zip(questions, texts, strict=True)):
                for own, paragraph in enumerate(article["paragraphs"]):
                    qa = dice.choice(paragraph["qas"])
                    other = dice.choice([each for each in range(len(article["paragraphs"])) if each != own])
                    for place in (own, other):
                        text = paragraphs["paragraphs"][place]["context"]
                        rows.append(Row(f"{asked}-{said}-{at}-{own}", qa["question"], text, int(place == own)))
        about = "own paragraph against another of the same article; half of the articles, on which nothing was fitted"
        return DataSet(title=title, about=about, rows=spread(rows, sources.limit))

    return make


# ---- sentences and claims ------------------------------------------------------------------------------------------


def sentences(title: str, name: str) -> Maker:
    def make(sources: Sources) -> DataSet:
        found = read_rows(sources.data / f"answer_sentences/{name}_test.jsonl")
        asked = set(spread(list(dict.fromkeys(str(row["qid"]) for row in found)), sources.limit))
        rows = [Row(str(row["qid"]), row["question"], row["sentence"], row["label"]) for row in found]
        rows = [row for row in rows if row.group in asked]
        return DataSet(title=title, about="sentences that answer against the others", rows=rows, ranking=True)

    return make


def scifact(title: str, about: str, *, unseen: bool) -> Maker:
    """`unseen`: only claims none of whose abstracts a training claim cites."""

    def make(sources: Sources) -> DataSet:
        corpus = {row["doc_id"]: row["sentences"] for row in read_rows(sources.data / "scifact/scifact_corpus.jsonl")}
        trained = read_rows(sources.data / "scifact/scifact_claims_train.jsonl")
        known = {str(cited) for row in trained for cited in row["cited_doc_ids"]} if unseen else set()
        claims = [row for row in read_rows(sources.data / "scifact/scifact_claims_dev.jsonl") if row["evidence"]]
        claims = [row for row in claims if known.isdisjoint(row["evidence"])]
        rows = [row for claim in spread(claims, sources.limit) for row in rationale_rows(claim, corpus)]
        return DataSet(title=title, about=about, rows=rows)

    return make


def rationale_rows(claim: dict[str, Any], corpus: dict[int, list[str]]) -> Iterator[Row]:
    for document, evidence in claim["evidence"].items():
        rationale = {place for part in evidence for place in part["sentences"]}
        for place, sentence in enumerate(corpus[int(document)]):
            yield Row(str(claim["id"]), claim["claim"], sentence, int(place in rationale))


def attribution(sources: Sources) -> DataSet:
    rows = [
        Row(str(place), row["claim"], "\n".join(row["references"]), int(row["attribution_label"] == "attributable"))
        for place, row in enumerate(sources.questions("attributionbench/dev_all_subset_balanced.jsonl"))
    ]
    about = "claims and the cited texts joined: do they support it? Read as the citation check reads scores"
    return DataSet(title="AttributionBench", about=about, rows=rows, supports=True)


SETS: dict[str, Maker] = {
    "popqa-title": popqa(
        "PopQA, title label", "the paper's rule: is it the subject's page?", lambda p: p["label_title"]
    ),
    "popqa-answer": popqa("PopQA, answer label", "does it hold an answer?", lambda p: p["label_answer_in_text"]),
    "popqa-clean": popqa("PopQA, clean", "passages where both labels agree", clean),
    "popqa-title-alone": popqa(
        "PopQA, title label, text alone",
        "the same without the title in front",
        lambda p: p["label_title"],
        lambda p: p["text"],
    ),
    "nomiracl": nomiracl,
    "clapnq": clapnq,
    "squad2": squad2,
    "squad-random": squad_other("SQuAD, own or a random other", ("random",)),
    "squad-nearest": squad_other("SQuAD, own or the nearest other", ("nearest",)),
    "squad-other": squad_other("SQuAD, own or either other", ("random", "nearest")),
    **{f"swapped-{kind}": swapped(kind) for kind in ("year", "number", "name")},
    "xquad-english": xquad("XQuAD, English", [("en", "en")]),
    "xquad-question": xquad("XQuAD, only the question in another language", [(each, "en") for each in LANGUAGES]),
    "xquad-both": xquad("XQuAD, both in another language", [(each, each) for each in LANGUAGES]),
    "wikiqa": sentences("WikiQA", "wikiqa"),
    "trecqa": sentences("TREC-QA", "trecqa"),
    "scifact": scifact(
        "SciFact",
        "claims: rationale sentences against the others of the same abstracts, many of which training claims cite too",
        unseen=False,
    ),
    "scifact-unseen": scifact(
        "SciFact, unseen abstracts", "only claims whose abstracts no training claim cites", unseen=True
    ),
    "financebench": finance,
    "attributionbench": attribution,
}
