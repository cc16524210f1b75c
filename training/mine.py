"""Finds wrong texts for every training question by the product's own search, and packs them with all texts.

    python -m training.mine [--data FOLDER] [--out FILE] [--vectors MINUTES] [--threads N]

The pool is every text of the train data, cut and titled as a library's chunks are, on each side of the split alone.
For a question the best of its own document and the best of the whole pool are kept: by BM25 (`crag.index.lexical`)
and, where `--vectors` gives time for it, by multilingual-e5-small, joined by reciprocal ranks. Texts that may answer
are left out (`candidates.may_answer`).
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from corpora.altering import around, found
from corpora.pair import Spot, held_out
from corpora.pairs import Corpus, untitled
from corpora.places import ROOT, parser_of
from corpora.rows import read_rows
from corpora.sources.documents import plain, words
from corpora.sources.mix import MIX
from corpora.sources.stored import Passage, Row, heading
from corpora.sources.tabular import RULED as TABLES
from corpora.sources.tabular import is_table
from crag.index.lexical import Lexical, Searcher, add, only
from crag.models.runtime import E5
from crag.text.words import STOP_WORDS
from training.candidates import Asked, Gold, Pack, Text, compute_digest, cut_pieces, may_answer, normalize_words, save
from training.vectors import remembered

PACK = ROOT / "runs" / "mined.zip"
FOUND, KEPT = 40, 15
"""Texts that a search gives, and that are kept of them, for a question's document and for the pool each."""
NEAREST = 60
"""What is added to a rank before it is inverted, when two rankings are joined."""
MINED = {"squad", "squadx", "squads", "unansq", "newwiki", "tsqa", "fairytale", "tatqa", "fetaqa", "aitqa", "selqa"}
"""Sets of which any text of the question's document may be wrong: their answers can be looked for in it."""
POOLED = {"nq", "popqa", "quoref", "asqa", *MINED} - {"tatqa", "aitqa", "fetaqa"}
"""Sets whose questions name their subject, so that texts of other documents are wrong without the answer."""
TITLES = re.compile(r"[0-9a-f]{18}")
"""The name of a document that has none."""
VECTORS = ("newwiki", "squad", "fairytale", "tsqa", "evinf", "qmsum", "onestop", "nq", "popqa", "unansq", "selqa")
"""Sets whose documents get vectors first."""


@dataclass
class Made:
    """A question with its texts before they have numbers."""

    asked: Asked
    golds: list[tuple[Text, tuple[Spot, ...], tuple[Spot, ...] | None]]
    wrong: list[Text]


class Gathered:
    """All questions and texts, numbered."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self._documents = corpus.sources.documents
        self._titles = self._title_of_groups()
        self._numbers: dict[Text, int] = {}
        self.asked: list[Asked] = []
        self.kinds: dict[int, str] = {}
        for made in self._questions():
            self._add(made)
        for text in self._others():
            self._number(text, "")

    @property
    def texts(self) -> list[Text]:
        return list(self._numbers)

    def _add(self, made: Made) -> None:
        golds = tuple(
            Gold(self._number(text, made.asked.source), spots, keeps) for text, spots, keeps in made.golds if text.text
        )
        wrong = tuple(dict.fromkeys(self._number(text, made.asked.source) for text in made.wrong if text.text))
        self.asked.append(replace(made.asked, golds=golds, wrong=wrong[:KEPT]))

    def _number(self, text: Text, source: str) -> int:
        number = self._numbers.setdefault(text, len(self._numbers))
        self.kinds.setdefault(number, source)
        return number

    def _title_of_groups(self) -> dict[str, str]:
        """For each document the title that most of its texts have: what stands before those without one."""
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for rows in self.corpus.sources.rows.values():
            for row in rows:
                for passage in row.passages:
                    if passage.title:
                        counts[self._group(passage)][unquote(passage.title).split(" › ")[0]] += 1
        for article in self.corpus.articles:
            counts[article["title"]][heading(unquote(article["title"]))] += 1
        return {group: max(sorted(titles), key=lambda title: titles[title]) for group, titles in counts.items()}

    def _group(self, passage: Passage) -> str:
        return self._documents.group(passage.text, passage.title)

    def _questions(self) -> Iterator[Made]:
        yield from self._of_articles()
        yield from self._of_pages()
        for name, rows in self.corpus.sources.rows.items():
            short = MIX[name].name
            if short in {"fever", "multihop", "liveqa", "wtq", "boolq"}:
                continue
            for row in rows:
                yield self._of_row(name, short, row)

    def _of_row(self, name: str, short: str, row: Row) -> Made:
        made = Made(Asked(row.question, row.group, short, row.answers), [], [])
        for passage in row.passages:
            group = self._group(passage)
            if name in TABLES and is_table(passage.text):
                for piece, keeps in self.corpus.sources.tables.label_pieces(name, passage):
                    text = Text(group, piece.context, piece.text)
                    if keeps:
                        made.golds.append((text, (), keeps))
                    elif keeps is not None and passage.label is not None:
                        made.wrong.append(text)
                continue
            title = unquote(passage.title) or self._titles.get(group, "")
            self._cut(made, Text(group, title, passage.text), passage.label, passage.spots, passage.keeps)
        return made

    @staticmethod
    def _cut(made: Made, whole: Text, label: float | None, spots: Sequence[Spot], keeps: Sequence[Spot] | None) -> None:
        """A text's pieces join the question's right and wrong ones; those of which nobody knows join neither."""
        if label and keeps is None and spots:
            keeps = around(whole.text, spots)
        pieces = cut_pieces(whole.text)
        for start, end in pieces:
            text = replace(whole, text=whole.text[start:end])
            inside = tuple((a - start, b - start) for a, b in spots if start <= a and b <= end)
            kept = tuple((max(a, start) - start, min(b, end) - start) for a, b in keeps or () if a < end and start < b)
            if label == 0:
                made.wrong.append(text)
            elif label is not None and (inside or kept or (not spots and not keeps and len(pieces) == 1)):
                made.golds.append((text, inside, kept or None))

    def _of_articles(self) -> Iterator[Made]:
        for article in self.corpus.articles:
            title = heading(unquote(article["title"]))
            for paragraph in article["paragraphs"]:
                text = Text(article["title"], title, paragraph["context"])
                for qa in paragraph["qas"]:
                    spots = sorted({(a["answer_start"], a["answer_start"] + len(a["text"])) for a in qa["answers"]})
                    answers = tuple(dict.fromkeys(a["text"] for a in qa["answers"]))
                    made = Made(Asked(qa["question"].strip(), article["title"], "squad", answers), [], [])
                    self._cut(made, text, 0.0 if qa.get("is_impossible") else 1.0, spots, None)
                    yield made

    def _of_pages(self) -> Iterator[Made]:
        """Natural Questions, and PopQA where its two labels agree."""
        for row in self.corpus.natural:
            gold = row["ctxs"][0]
            group = self.corpus.group(gold["title"])
            made = Made(Asked(row["question"], group, "nq", tuple(row["answers"])), [], [])
            text = Text(group, gold["title"], gold["text"])
            self._cut(made, text, 1.0, found(gold["text"], row["answers"]), None)
            yield made
        for row in self.corpus.popqa:
            group = self.corpus.group(row["s_wiki_title"])
            made = Made(Asked(row["question"], group, "popqa", tuple(row["answers"])), [], [])
            for passage in row["passages"]:
                said, place = untitled(passage), self.corpus.group(passage["title"])
                if held_out(place) == held_out(group) and passage["label_title"] == passage["label_answer_in_text"]:
                    label = float(passage["label_title"])
                    spots = found(said, row["answers"]) if label else ()
                    self._cut(made, Text(place, passage["title"], said), label, spots, None)
            yield made

    def _others(self) -> Iterator[Text]:
        """Texts that no question here is about."""
        for title, text in self.corpus.pool:
            yield Text(self.corpus.group(title), title, text)
        for name in ("wikitablequestions", "boolq_part", "multihop_dev_parts"):
            for row in self.corpus.sources.rows[name]:
                for passage in row.passages:
                    group = self._group(passage)
                    if name in TABLES and is_table(passage.text):
                        for piece, _ in self.corpus.sources.tables.label_pieces(name, passage):
                            yield Text(group, piece.context, piece.text)
                    else:
                        for start, end in cut_pieces(passage.text):
                            yield Text(group, passage.title, passage.text[start:end])
        for row in read_rows(self.corpus.data / "scifact/scifact_corpus.jsonl"):
            said = " ".join(sentence.strip() for sentence in row["sentences"])
            for start, end in cut_pieces(said):
                yield Text(self.corpus.group(row["title"]), row["title"], said[start:end])


def join_ranks(rankings: Sequence[Sequence[int]]) -> list[int]:
    """Numbers by the sum of their inverted ranks, the best first."""
    worth: dict[int, float] = defaultdict(float)
    for ranking in rankings:
        for rank, number in enumerate(ranking):
            worth[number] += 1 / (NEAREST + rank)
    return sorted(worth, key=lambda number: (-worth[number], number))


def collect_right_texts(asked: Sequence[Asked]) -> dict[str, set[int]]:
    """For each question, however often it is asked, the texts that answer it."""
    answering: dict[str, set[int]] = defaultdict(set)
    for each in asked:
        answering[plain(each.question)].update(gold.text for gold in each.golds)
    return answering


class Filter:
    """Which of the texts that a search found count as wrong for a question."""

    def __init__(self, texts: Sequence[Text], asked: Sequence[Asked]) -> None:
        self._texts = texts
        self._spoken = [normalize_words(text.text) for text in texts]
        self._held = [words(text.text) for text in texts]
        self._plain = [plain(text.text) for text in texts]
        self._right = collect_right_texts(asked)

    def wrong(self, asked: Asked, numbers: Sequence[int]) -> list[int]:
        right = self._right[plain(asked.question)]
        evidence = [
            words(self._texts[gold.text].text[start:end]) for gold in asked.golds for start, end in gold.keeps or ()
        ]
        plains = {self._plain[number] for number in right}
        return [
            number
            for number in numbers
            if number not in right
            and not may_answer(self._spoken[number], self._held[number], asked.answers, evidence)
            and self._plain[number] not in plains
        ]


def search_side(pack: Pack, held: bool, folder: Path, vectors: NDArray[np.float16] | None, asks: Asks) -> None:
    """Fill in `same` and `near` of the questions of one side of the split."""
    groups = {group: number for number, group in enumerate(dict.fromkeys(text.group for text in pack.texts))}
    mine = [number for number, text in enumerate(pack.texts) if held_out(text.group) == held]
    index = Lexical.make(folder)
    writer = index.writer()
    for number in mine:
        text = pack.texts[number]
        add(writer, number, groups[text.group], text.title, text.text)
    writer.commit()
    writer.wait_merging_threads()
    searcher = index.searcher()
    keep = Filter(pack.texts, pack.asked)
    inside: dict[str, list[int]] = defaultdict(list)
    for number in mine:
        inside[pack.texts[number].group].append(number)
    by_group: dict[str, list[Asked]] = defaultdict(list)
    for each in pack.asked:
        if held_out(each.group) == held:
            by_group[each.group].append(each)
    for group, asked in by_group.items():
        within = only(np.array([groups[group]], np.uint64)) if len(inside[group]) > 1 and group in groups else None
        for each in asked:
            said = [word for word in re.findall(r"[^\W_]+", each.question) if word.lower() not in STOP_WORDS]
            vector = asks.of(each)
            if within is not None and each.source in MINED:
                rankings = [rank_texts(searcher, said, FOUND, within)]
                if vector is not None and vectors is not None:
                    rankings.append(find_nearest(vector, vectors, inside[group]))
                each.same = tuple(keep.wrong(each, join_ranks(rankings)))[:KEPT]
            if each.source in POOLED:
                each.near = tuple(keep.wrong(each, rank_texts(searcher, said, FOUND, None)))[:KEPT]


class Asks:
    """Vectors of questions, where there was time for them."""

    def __init__(self, vectors: dict[str, NDArray[np.float16]]) -> None:
        self._vectors = vectors

    def of(self, asked: Asked) -> NDArray[np.float16] | None:
        return self._vectors.get(asked.question)


def rank_texts(searcher: Searcher, said: Sequence[str], count: int, within: object) -> list[int]:
    numbers, _ = searcher.best(said, count, within)  # type: ignore[arg-type]
    return [int(number) for number in numbers]


def find_nearest(vector: NDArray[np.float16], vectors: NDArray[np.float16], numbers: Sequence[int]) -> list[int]:
    """The nearest of those texts that have a vector."""
    close = vectors[list(numbers)].astype(np.float32) @ vector.astype(np.float32)
    return [numbers[at] for at in np.argsort(-close)[:FOUND] if close[at] != 0]


def embed_some(
    pack: Pack, kinds: dict[int, str], minutes: float, threads: int
) -> tuple[NDArray[np.float16] | None, Asks]:
    """Vectors of the texts and questions of as many of VECTORS as there is time for."""
    if not minutes:
        return None, Asks({})
    ends, model = time.monotonic() + 60 * minutes, E5(threads)
    vectors, asks = np.zeros((len(pack.texts), model.dimension), np.float16), dict[str, NDArray[np.float16]]()
    for name in VECTORS:
        groups = {each.group for each in pack.asked if each.source == name}
        numbers = [number for number, text in enumerate(pack.texts) if text.group in groups and kinds[number]]
        numbers = [number for number in numbers if not vectors[number].any()]
        done = 0
        for done in range(0, len(numbers), 256):
            if time.monotonic() > ends:
                break
            some = numbers[done : done + 256]
            vectors[some] = model.embed([f"{pack.texts[n].title}\n{pack.texts[n].text}" for n in some])
        questions = [each.question for each in pack.asked if each.source == name and each.question not in asks]
        for at in range(0, len(questions), 256):
            if time.monotonic() > ends:
                break
            some_asked = questions[at : at + 256]
            asks |= {each: model.embed_question(each).astype(np.float16) for each in some_asked}
        print(f"{name}: {len(numbers)} texts, {len(asks)} questions with vectors", flush=True)
        if time.monotonic() > ends:
            break
    return vectors, Asks(asks)


def count_figures(pack: Pack) -> dict[str, object]:
    """What a pack holds, by set."""
    counts: dict[str, list[int]] = {}
    for each in pack.asked:
        line = counts.setdefault(each.source, [0] * 5)
        for at, count in enumerate((1, len(each.golds), len(each.same), len(each.near), len(each.wrong))):
            line[at] += count
    whole = [sum(each[at] for each in counts.values()) for at in range(5)]
    return {"texts": len(pack.texts), "questions, right, same document, pool, set's own wrong": whole, **counts}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--out", type=Path, default=PACK)
    parser.add_argument("--vectors", type=float, default=0.0, metavar="MINUTES")
    parser.add_argument("--threads", type=int, default=0)
    given = parser.parse_args()
    began = time.process_time()
    gathered = Gathered(Corpus(given.data, remembered))
    pack = Pack(gathered.texts, gathered.asked)
    print(f"{len(pack.texts)} texts, {len(pack.asked)} questions, {time.process_time() - began:.0f} s", flush=True)
    vectors, asks = embed_some(pack, gathered.kinds, given.vectors, given.threads)
    with tempfile.TemporaryDirectory() as scratch:
        for held in (False, True):
            search_side(pack, held, Path(scratch) / f"{held}", vectors, asks)
            print(f"searched, {time.process_time() - began:.0f} s", flush=True)
    save(pack, given.out)
    print(json.dumps(count_figures(pack)))
    size, seconds = given.out.stat().st_size / 1e6, time.process_time() - began
    print(f"{given.out.name}: {size:.1f} MB, {compute_digest(given.out)}, {seconds:.0f} s of processor")


if __name__ == "__main__":
    main()
