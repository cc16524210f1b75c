"""How much of each set an epoch has and what for; the rows of all sets, each with its document."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from corpora.altering import changed, claims, cut, holds
from corpora.pair import Pair, held_out
from corpora.sources import prose
from corpora.sources.documents import Documents, nearest, words
from corpora.sources.stored import ARTICLES, SETS, Passage, Row, articles, heading, rows
from corpora.sources.tabular import Tabular, is_table, reported


@dataclass(frozen=True)
class Use:
    """At most so many pairs of a set in an epoch, under a shorter name, and what they are to teach."""

    name: str
    pairs: int
    purpose: str


MIX = {
    ARTICLES: Use("squad", 9_500, "what the first SQuAD articles teach, from 44 more"),
    "squad_unansq": Use("unansq", 11_500, "on the subject and yet not the answer: two questions on the very same text"),
    "squad_train_extra": Use("squadx", 4_000, "paragraphs against those that a word search finds"),
    "squad_sentences": Use("squads", 6_500, "the one sentence that answers, against sentences with the same words"),
    "squadshifts_newwiki": Use("newwiki", 10_500, "the paragraph that answers against the nearest of its article"),
    "tsqa_human": Use("tsqa", 5_500, "the right subject at another time is no answer"),
    "tatqa": Use("tatqa", 10_000, "real financial reports: tables and text as the product chunks them"),
    "fetaqa": Use("fetaqa", 6_000, "the rows of a table that answer, and tables alike that do not"),
    "wikitablequestions": Use("wtq", 2_500, "tables without sentences, asked about in few words"),
    "aitqa": Use("aitqa", 2_000, "tables of annual reports, rows under other rows"),
    "selqa": Use("selqa", 7_500, "sentences inside and outside the evidence of a section judged whole"),
    "qed_dev": Use("qed", 1_000, "real questions with the sentence that answers"),
    "qa_feedback_asqa": Use("asqa", 1_500, "questions that several passages answer in part"),
    "boolq_part": Use("boolq", 4_000, "yes-or-no questions with what decides them"),
    "quoref_part": Use("quoref", 1_200, "answers whose subject is named in another sentence"),
    "multihop_dev_parts": Use("multihop", 2_500, "a part of the answer is worth keeping"),
    "fever_part": Use("fever", 5_000, "claims: supported against refuted and against other texts"),
    "fairytaleqa": Use("fairytale", 4_500, "stories: scenes of one story against one another"),
    "onestopqa": Use("onestop", 4_500, "the critical sentences against those written to mislead"),
    "qmsum": Use("qmsum", 3_200, "meetings: talk about what is asked against other talk of the same meeting"),
    "medquad": Use("medquad", 5_000, "medicine: the same disease, another question about it"),
    "liveqa_med": Use("liveqa", 250, "medicine: what people found no answer"),
    "evidence_inference": Use(
        "evinf", 3_500, "trials: the paragraph with the finding against methods of the same article"
    ),
}
LEFT_OUT = {
    "adversarialqa_part": "one holder says that it may not be used commercially",
    "multihop_dev_parts 2wiki": "no holder states a licence",
}
MAKERS: dict[str, Callable[[Row, random.Random, str], Iterator[Pair]]] = {
    "squad_unansq": prose.share_text,
    "selqa": prose.sections,
    "qed_dev": prose.sections,
    "onestopqa": prose.critical,
    "medquad": prose.led,
    "liveqa_med": prose.led,
    "qmsum": prose.talked,
    "fever_part": prose.claimed,
    "multihop_dev_parts": prose.steps,
    "quoref_part": prose.named,
}
SETTINGS: dict[str, dict[str, Any]] = {
    "squadshifts_newwiki": {"silver": 0.7, "negatives": 1, "shown": 0.4},
    "squad_sentences": {"negatives": 1, "shown": 0.0},
    "squad_train_extra": {"negatives": 1},
    "tsqa_human": {"negatives": 2},
    "fairytaleqa": {"negatives": 1},
    "evidence_inference": {"negatives": 1},
}
FOREIGN = 0.5
"""What a text counts that is taken for wrong only because it is about something else."""


class Sources:
    """The rows of all sets, each on one side of the split with all its passages."""

    def __init__(self, data: Path, documents: Documents) -> None:
        """`documents` knows the titles and texts of the first sources; those of the sets are added and settled."""
        self._stored = {name: list(_rows(data, name)) for name in SETS if name in MIX}
        self._articles = articles(data)
        self.documents = documents
        self._join()
        self.rows = {name: [row for row in map(self._placed, stored) if row] for name, stored in self._stored.items()}
        self.rows[ARTICLES] = list(self._asked())
        self._stored = {}

    def epoch(self, seed: int) -> Iterator[Pair]:
        """Pairs of every set up to its share, the same for the same seed."""
        for name, use in MIX.items():
            dice = random.Random(f"{seed} {name}")
            count = 0
            for row in dice.sample(self.rows[name], len(self.rows[name])):
                if count >= use.pairs:
                    break
                for pair in self._made(name, row, dice):
                    count += 1
                    yield pair

    def _made(self, name: str, row: Row, dice: random.Random) -> Iterator[Pair]:
        short = MIX[name].name
        if name in MAKERS:
            yield from MAKERS[name](row, dice, short)
        elif name == ARTICLES:
            yield from self._of_article(row, dice, short)
        elif name == "tatqa":
            yield from self._of_report(row, dice, short)
        elif name in {"fetaqa", "aitqa", "wikitablequestions"}:
            yield from self._of_table(name, row, dice, short)
        else:
            yield from prose.pairs(row, dice, short, **SETTINGS.get(name, {}))
            if name == "boolq_part" and dice.random() < 0.4:
                other = dice.choice(self.rows[name])
                if self._foreign(row, other):
                    passage = replace(other.passages[0], label=0.0, spots=(), keeps=())
                    yield cut(prose.base(row, passage, f"{short} other", FOREIGN), dice)

    def _of_article(self, row: Row, dice: random.Random, short: str) -> Iterator[Pair]:
        """A paragraph, runs of its sentences, the nearest other one of the article, and changed questions."""
        yield from prose.pairs(row, dice, f"{short}44", negatives=1)
        if row.passages[0].label:
            pair = prose.base(row, row.passages[0], f"{short}44 passage")
            yield from changed(pair, row.more["spoken"], dice)
            yield from claims(pair, row.answers[:1], row.more["spoken"], dice)

    def _of_report(self, row: Row, dice: random.Random, short: str) -> Iterator[Pair]:
        """Tables and paragraphs of the report alone, and joined to a page that is chunked."""
        yield from ((replace(pair, source=f"{short} table")) for pair in self.tables.pairs("tatqa", row, dice))
        said = [passage for passage in row.passages if not is_table(passage.text)]
        yield from prose.pairs(row.on(row.group, tuple(said)), dice, short, negatives=1, shown=0.3)
        if dice.random() < 0.4:
            right, wrong = [], []
            for piece, keeps in reported(row, dice):
                pair = Pair(row.question, piece.text, float(keeps != ()), row.group, f"{short} page", piece.context)
                (wrong if keeps == () else right).append(replace(pair, keeps=keeps))
            for found in (right, wrong):
                if found:
                    yield dice.choice(found)

    def _of_table(self, name: str, row: Row, dice: random.Random, short: str) -> Iterator[Pair]:
        yield from (
            replace(pair, source=f"{short} table")
            for pair in self.tables.pairs(name, row, dice, negatives=1, rest=name != "wikitablequestions")
        )
        if name == "wikitablequestions" and dice.random() < 0.7:
            other = dice.choice(self.rows[name])
            text = other.passages[0].text
            if self._foreign(row, other) and len(words(row.question) & words(text)) < len(words(row.question)) / 3:
                pair = Pair(row.question, "", 0.0, row.group, f"{short} table", weight=FOREIGN, keeps=())
                yield self.tables.other(name, text, pair, dice)

    @staticmethod
    def _foreign(row: Row, other: Row) -> bool:
        """Whether the other row's text is on the same side of the split, of another document and without the answer."""
        same_side = held_out(row.group) == held_out(other.group) and row.group != other.group
        said = [answer for answer in row.answers if answer not in {"yes", "no"}]
        return same_side and not holds(other.passages[0].text, said)

    @cached_property
    def tables(self) -> Tabular:
        return Tabular({name: self.rows[name] for name in ("tatqa", "aitqa", "fetaqa", "wikitablequestions")})

    def _join(self) -> None:
        """Tells the documents which titles and texts of the sets belong together."""
        known, late = self.documents, list[str]()
        for article in self._articles:
            texts = [paragraph["context"] for paragraph in article["paragraphs"]]
            known.add(texts, article["title"], parts=True)
            known.add([texts[0], *(_asks(qa["question"]) for p in article["paragraphs"] for qa in p["qas"])])
        for row in self._stored["tatqa"]:
            known.add([passage.text for passage in row.passages if passage.label is not None])
        for name, stored in self._stored.items():
            for row in stored:
                for passage in row.passages if name != "tatqa" else ():
                    if name in UNTITLED and not passage.title:
                        late.append(passage.text)
                    else:
                        title = "" if name == "liveqa_med" else passage.title
                        known.add([passage.text], title, parts=name in UNTITLED)
                    if name in OF_SQUAD and passage.label:
                        known.add([passage.text, _asks(row.question)])
        for text in sorted(dict.fromkeys(late), key=lambda text: -len(text)):
            known.add_untitled(text)
            known.add([text], parts=True)
        known.settle()

    def _placed(self, row: Row) -> Row | None:
        """The row with its document, without passages of documents on the other side of the split."""
        first = next((passage for passage in row.passages if passage.label), row.passages[0])
        group = self._group(first)
        side = held_out(group)
        here = tuple(passage for passage in row.passages if held_out(self._group(passage)) == side)
        return row.on(group, here) if here else None

    def _group(self, passage: Passage) -> str:
        return self.documents.group(passage.text, passage.title)

    def _asked(self) -> Iterator[Row]:
        """The questions of the stored articles as rows, with the nearest other paragraphs of the article."""
        for article in self._articles:
            texts = [paragraph["context"] for paragraph in article["paragraphs"]]
            asked = [(number, qa) for number, p in enumerate(article["paragraphs"]) for qa in p["qas"]]
            title = heading(article["title"])
            group = self.documents.group("", title)
            spoken = [a["text"] for _, qa in asked for a in qa["answers"][:1]]
            more = {"spoken": list(dict.fromkeys(spoken))}
            near = nearest([qa["question"] for _, qa in asked], texts)
            for (number, qa), closest in zip(asked, near, strict=True):
                marks = {(a["answer_start"], a["answer_start"] + len(a["text"])) for a in qa["answers"]}
                answers = tuple(a["text"] for a in qa["answers"])
                wrong = [n for n in closest if n != number and not holds(texts[n], answers)][:3]
                if qa.get("is_impossible"):
                    own = Passage(texts[number], 0.0, title, keeps=(), kind="unanswerable")
                else:
                    own = Passage(texts[number], 1.0, title, tuple(sorted(marks)))
                others = [Passage(texts[n], 0.0, title, keeps=(), kind="near") for n in wrong]
                passages = (own, *(others if own.label else ()))
                yield Row(str(qa.get("id", "")), qa["question"].strip(), answers, passages, more, group)


UNTITLED = {"squad_train_extra", "squad_sentences", "squad_unansq", "quoref_part", "fever_part"}
"""Sets whose texts mostly come without the title of the article that they are from."""
OF_SQUAD = {"squad_train_extra", "squad_sentences", "squad_unansq"}
"""Sets that ask the same questions of whole paragraphs and of single sentences."""


def _asks(question: str) -> str:
    """A question as what documents are joined by: asked in two sets, it is about the same text."""
    return f"asked {question}"


def _rows(data: Path, name: str) -> Iterator[Row]:
    """The rows of one set that are used; two questions on the same text are one row."""
    stored: Sequence[Row] = list(rows(data, name))
    if name == "squad_unansq":
        asked = {row.id: row.question for row in stored}
        for row in stored:
            if row.passages[0].label and (other := asked.get(row.more["pair"])):
                yield replace(row, more={"other": other})
        return
    for row in stored:
        if row.passages and not str(row.more.get("src", "")).startswith("2wiki"):
            yield row
