"""Questions for the set's score: each with the text that answers it, and some that nothing in the library answers.

They are of nine kinds, of documents that no weight was fitted on, nor benchmarks.answers reports on. A near miss asks
about another year, report or name than the documents have, or about what its paragraph does not say.
"""

from __future__ import annotations

import json
import random
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from corpora.altering import renamed
from corpora.answer_questions import (
    File,
    articles,
    document,
    half,
    halves,
    statement_files,
    statement_questions,
    statements,
)
from corpora.pairs import Corpus, held_out, untitled
from corpora.rows import read_rows
from crag.analysis.questions.matching import checkable, holds
from crag.core.documents import Chunk
from training.calibrate_answers import SECTIONS, apart, asked_tables, volume
from training.vectors import remembered

ARTICLE, ABSENT = 26, 26
"""Questions of an article: with an answer, and without one."""
STORIES, PAIRS, NATURAL, TIMES, HOPS = 150, 130, 180, 150, 160
"""Questions of the open sets."""
FILLING = 500
"""Other passages of the library that all open questions are asked of."""
RUN, PART = 6, 3
"""Words in a row that count as the same text, and how many such runs make a chunk a part of it."""
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
Texts = dict[str, dict[str, None]]


@dataclass(frozen=True, slots=True)
class SetQuestion:
    """A question of documents that meet `where`; `group` is the document that folds go by.

    `gold`: the texts that answer it, `every`: only all together; else `pages` of `source`, or the chunks that hold an
    accepted answer. No `answers`: a near miss, `miss` says of what.
    """

    id: str
    kind: str
    group: str
    question: str
    answers: tuple[str, ...] = ()
    gold: tuple[str, ...] = ()
    every: bool = False
    where: str = ""
    miss: str = ""
    source: str = ""
    pages: tuple[int, ...] = ()

    def sufficient(self, chunks: Sequence[tuple[Sequence[bool], bool]]) -> bool | None:
        """Whether retrieved chunks answer, each as `overlaps` and whether it holds an answer; None: who can tell?"""
        if self.every and self.gold:
            return all(any(own[number] for own, _ in chunks) for number in range(len(self.gold)))
        if self.pages:
            return any(any(own) for own, _ in chunks)
        if not self.gold:
            return any(says for _, says in chunks)
        if any(any(own) and says for own, says in chunks):
            return True
        return None if any(any(own) or says for own, says in chunks) else False

    def takes(self, own: Sequence[bool], says: bool) -> bool:
        """Whether a chunk goes where what answers is taken out: of several texts the one with the answer, or last."""
        if self.every and self.gold:
            last = next((n for n, text in enumerate(self.gold) if holds(text, self.answers)), len(self.gold) - 1)
            return own[last]
        return any(own) if self.gold or self.pages else says


def overlaps(chunk: Chunk, asked: SetQuestion) -> list[bool]:
    """For each text that answers, or for the pages that do, whether the chunk has a part of it."""
    if asked.pages:
        return [chunk.source == asked.source and chunk.page in asked.pages]
    said = _runs(chunk.text)
    return [len(said & _runs(text)) >= PART for text in asked.gold]


@cache
def _runs(text: str) -> frozenset[tuple[str, ...]]:
    """Every run of `RUN` words."""
    words = re.findall(r"\w+", text.casefold())
    return frozenset(tuple(words[n : n + RUN]) for n in range(max(1, len(words) - RUN + 1)))


def libraries(data: Path) -> Iterator[tuple[list[File], list[SetQuestion]]]:
    """The documents of each library, and what is asked of them."""
    corpus = Corpus(data, remembered)
    yield prose(data, corpus)
    yield stories(corpus)
    yield reports(data)
    yield tables(corpus)
    yield passages(data, corpus)
    yield hops(data, corpus)


def prose(data: Path, corpus: Corpus) -> tuple[list[File], list[SetQuestion]]:
    """Questions of encyclopedia articles, each asked of its own article."""
    dice, files, found = random.Random(41), list[File](), list[SetQuestion]()
    parts = halves([article["title"] for article in articles(data)])
    for article in articles(data):
        if parts[article["title"]] != "choose":
            continue
        name = article["title"].replace("_", " ")
        files.append(document(name, [paragraph["context"] for paragraph in article["paragraphs"]]))
        asked = [(qa, paragraph["context"]) for paragraph in article["paragraphs"] for qa in paragraph["qas"]]
        known = [each for each in asked if each[0]["answers"] and not each[0].get("is_impossible")]
        absent = [each for each in asked if each[0].get("is_impossible")]
        for qa, text in dice.sample(known, min(ARTICLE, len(known))):
            answers = tuple(dict.fromkeys(each["text"] for each in qa["answers"]))
            found += ask(f"prose-{qa['id']}", "prose", name, qa["question"], answers, (text,), files[-1][0])
        for qa, _ in dice.sample(absent, min(ABSENT, len(absent))):
            found += near_miss(f"prose-{qa['id']}", "prose", name, qa["question"], "same paragraph", files[-1][0])
    rows = apart(corpus, "squadshifts_newwiki")
    for title in sorted({row.passages[0].title for row in rows}):
        own = [row for row in rows if row.passages[0].title == title]
        files.append(document(title, dict.fromkeys(each.text for row in own for each in row.passages)))
        for row in dice.sample(own, min(ARTICLE, len(own))):
            gold = tuple(each.text for each in row.passages if each.label)
            found += ask(f"prose-{row.id}", "prose", row.group, row.question, row.answers, gold, files[-1][0])
    return files, found


def stories(corpus: Corpus) -> tuple[list[File], list[SetQuestion]]:
    """Questions of fairy tales, each asked of its own tale."""
    rows, texts = apart(corpus, "fairytaleqa"), Texts()
    for row in rows:
        for each in row.passages:
            texts.setdefault(each.title, {})[each.text] = None
    files = {title: document(title, own) for title, own in sorted(texts.items())}
    found = list[SetQuestion]()
    for row in random.Random(42).sample(rows, min(STORIES, len(rows))):
        gold = tuple(each.text for each in row.passages if each.label)
        title = next(each.title for each in row.passages if each.label)
        found += ask(row.id, "stories", row.group, row.question, row.answers, gold, files[title][0])
    return list(files.values()), found


def reports(data: Path) -> tuple[list[File], list[SetQuestion]]:
    """Questions of rebuilt annual reports, of years that they do not have, and of other reports."""
    own = [each for each in statements(data) if half(each.passages[0]) == "choose"]
    group = {f'name = "{each.name}"': each.passages[0] for each in own}
    found = [
        SetQuestion(q.id, "reports", group[q.where], q.question, checkable(q.answers), where=q.where, miss=q.miss)
        for q in statement_questions(own, most=5)
        if q.miss or checkable(q.answers)
    ]
    return list(statement_files(own)), found


def tables(corpus: Corpus) -> tuple[list[File], list[SetQuestion]]:
    """Questions of tables of airlines' annual reports, asked of all; and of a year that its table does not have."""
    files, found = dict[str, bytes](), list[SetQuestion]()
    for row, (name, body), other in asked_tables(corpus):
        files[name] = body
        found += ask(row.id, "tables", row.group, row.question, row.answers)
        if other:
            found += near_miss(f"{row.id}-period", "tables", row.group, other, "other period", name)
    return list(files.items()), found


def passages(data: Path, corpus: Corpus) -> tuple[list[File], list[SetQuestion]]:
    """Questions of a search engine, pairs with an unanswerable twin, of periods, of people and works; asked of all."""
    dice, texts, found = random.Random(43), Texts(), list[SetQuestion]()

    def add(title: str, text: str) -> str:
        texts.setdefault(title, {})[text] = None
        return text

    pairs = [row for row in apart(corpus, "squad_unansq") if row.answers and row.more.get("other")]
    for row in dice.sample(pairs, min(PAIRS, len(pairs))):
        text = row.passages[0].text
        add(f"Note {zlib.crc32(text.encode())}", text)
        found += ask(row.id, "pairs", row.group, row.question, row.answers, (text,))
        found += near_miss(f"{row.id}-other", "pairs", row.group, row.more["other"], "same paragraph")
    rows = apart(corpus, "tsqa_human")
    for row in dice.sample(rows, min(TIMES, len(rows))):
        gold = tuple(each.text for each in row.passages if each.label)
        for each in row.passages:
            add(each.title, each.text)
        if row.answers:
            found += ask(f"times-{row.id}", "times", row.group, row.question, row.answers, gold)
        else:
            found += near_miss(f"times-{row.id}", "times", row.group, row.question, "other period")
    natural = read_rows(data / "nq/train.jsonl")
    own = [row for row in natural if held_out(corpus.group(row["ctxs"][0]["title"]))]
    for place, row in enumerate(dice.sample(own, min(NATURAL, len(own)))):
        title, text = row["ctxs"][0]["title"], row["ctxs"][0]["text"]
        add(title, text)
        found += ask(f"nq-{place}", "nq", corpus.group(title), row["question"], row["answers"], (text,))
    for row in dice.sample(natural, FILLING):
        add(row["ctxs"][0]["title"], row["ctxs"][0]["text"])
    people = [row for row in corpus.popqa if held_out(corpus.group(row["s_wiki_title"]))]
    known = {row["name"] for row in people}
    for row in people:
        gold = tuple(add(each["title"], untitled(each)) for each in row["passages"] if _right(each))
        for each in row["passages"]:
            add(each["title"], untitled(each))
        group = corpus.group(row["s_wiki_title"])
        if gold:
            found += ask(f"names-{row['id']}", "names", group, row["question"], row["answers"], gold)
        alike = [each["name"] for each in corpus.popqa if each["asks"] == row["asks"] and each["name"] not in known]
        asked = renamed(row["question"], row["name"], alike, dice)
        if asked != row["question"]:
            found += near_miss(f"names-{row['id']}-other", "names", group, asked, "other name")
    return volumes(texts), found


def _right(passage: Mapping[str, object]) -> bool:
    return bool(passage["label_title"] and passage["label_answer_in_text"])


def hops(data: Path, corpus: Corpus) -> tuple[list[File], list[SetQuestion]]:
    """Questions that several passages answer together, asked of all."""
    texts, found = Texts(), list[SetQuestion]()
    for row in apart(corpus, "multihop_dev_parts")[:HOPS]:
        for each in row.passages:
            texts.setdefault(each.title, {})[each.text] = None
        gold = tuple(each.text for each in row.passages if each.label)
        found += ask(row.id, "several", row.group, row.question, row.answers, gold, every=True)
    for row in json.loads((data / "multihop/musique_train.json").read_text("utf-8")):
        gold = tuple(each["paragraph_text"] for each in row["paragraphs"] if each["is_supporting"])
        group = corpus.group(min(each["title"] for each in row["paragraphs"] if each["is_supporting"]))
        if held_out(group):
            for each in row["paragraphs"]:
                texts.setdefault(each["title"], {})[each["paragraph_text"]] = None
            answers = (row["answer"], *row["answer_aliases"])
            found += ask(row["id"], "several", group, row["question"], answers, gold, every=True)
    return volumes(texts), found


def volumes(texts: Texts) -> list[File]:
    """Documents of many titles: adding each by itself takes long."""
    titles = sorted(texts)
    parts = [titles[first : first + SECTIONS] for first in range(0, len(titles), SECTIONS)]
    sections = ({title: list(texts[title]) for title in each} for each in parts)
    return [volume(f"Volume {place}", each) for place, each in enumerate(sections)]


def ask(
    id: str,
    kind: str,
    group: str,
    question: str,
    answers: Sequence[str],
    gold: tuple[str, ...] = (),
    name: str = "",
    *,
    every: bool = False,
) -> Iterator[SetQuestion]:
    """The question, unless no accepted answer can be looked for in a text."""
    if known := checkable(answers):
        yield SetQuestion(id, kind, group, question.strip(), known, gold, every, _named(name))


def near_miss(id: str, kind: str, group: str, question: str, miss: str, name: str = "") -> Iterator[SetQuestion]:
    yield SetQuestion(id, kind, group, question.strip(), where=_named(name), miss=miss)


def _named(name: str) -> str:
    return f'name = "{name}"' if name else ""
