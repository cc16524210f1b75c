"""Pairs from rows of text: one maker for each way in which a set says what answers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from corpora.altering import around, cut, found, holds, part, windows
from corpora.pair import Pair
from corpora.sources.stored import Passage, Row
from crag.text.sentences import sentences

WHOLE = 1100
"""Characters of a text that is read whole: which part of a longer one answers is not known without evidence."""
RUN = 800
WINDOWS = 0.5
"""How often runs of sentences of a right passage, with and without the answer, come beside it."""
HARD = 1.5
"""What a text counts that people wrote a question about which it does not answer."""


def base(row: Row, passage: Passage, source: str, weight: float = 1.0) -> Pair:
    keeps = passage.keeps
    if passage.label and keeps is None and passage.spots:
        keeps = around(passage.text, passage.spots)
    label = float(passage.label or 0.0)
    return Pair(row.question, passage.text, label, row.group, source, passage.title, passage.spots, weight, keeps=keeps)


def whole(pair: Pair, dice: random.Random) -> Iterator[Pair]:
    """The pair, cut round its evidence where it is long; nothing where a long one's evidence is not known."""
    if pair.label and not pair.spots and not pair.keeps:
        if len(pair.text) <= WHOLE:
            yield replace(pair, keeps=None)
        return
    made = cut(pair, dice)
    yield replace(made, keeps=None) if made.label and not made.keeps else made


def pairs(
    row: Row, dice: random.Random, name: str, *, silver: float = 0.5, negatives: int = 2, shown: float = WINDOWS
) -> Iterator[Pair]:
    """Right passages, some of their sentences, and passages without the answer."""
    wrong = [passage for passage in row.passages if passage.label == 0]
    for passage in row.passages:
        if passage.label:
            right = base(row, passage, f"{name} passage")
            yield from whole(right, dice)
            if (right.spots or right.keeps) and dice.random() < shown:
                yield from windows(replace(right, source=name), dice)
    for passage in dice.sample(wrong, min(negatives, len(wrong))):
        weight = HARD if passage.kind == "unanswerable" else silver if passage.silver else 1.0
        yield from whole(base(row, passage, f"{name} other", weight), dice)


def share_text(row: Row, dice: random.Random, name: str) -> Iterator[Pair]:
    """A question that a text answers and one written so that it does not, both asked of the very same text."""
    (passage,) = row.passages
    right = base(row, passage, f"{name} passage", HARD)
    texts = list(whole(right, dice))
    if (right.spots or right.keeps) and len(sentences(right.text)) > 2 and dice.random() < WINDOWS:
        texts += [each for each in windows(replace(right, source=name), dice) if each.label]
    for text in texts:
        yield text
        yield replace(text, question=row.more["other"], label=0.0, spots=(), keeps=())


def sections(row: Row, dice: random.Random, name: str) -> Iterator[Pair]:
    """Of a section whose every sentence was judged: a passage, and runs of one to three sentences of both kinds."""
    (passage,) = row.passages
    right = base(row, passage, f"{name} passage")
    yield from whole(right, dice)
    spans = [(int(start), int(end)) for start, end in row.more.get("sentences", ())]
    spans = [span for span in spans if passage.text[slice(*span)].strip()] or sentences(passage.text)
    keeps = passage.keeps or around(passage.text, passage.spots)
    if not keeps:
        return
    marked = [any(a < end and start < b for a, b in keeps) for start, end in spans]
    inside, outside = [], []
    for size in (1, 1, 2, 3):
        for first in range(len(spans) - size + 1):
            held = any(marked[first : first + size])
            (inside if held else outside).append((spans[first][0], spans[first + size - 1][1]))
    for start, end in dice.sample(inside, min(2, len(inside))):
        yield replace(part(right, start, end), source=f"{name} window")
    for start, end in dice.sample(outside, min(2, len(outside))):
        yield replace(part(right, start, end), label=0.0, spots=(), keeps=(), source=f"{name} window")


def critical(row: Row, dice: random.Random, name: str) -> Iterator[Pair]:
    """The sentences that answer, and those that were written to mislead."""
    yield from pairs(row, dice, name, negatives=1)
    for passage in row.passages:
        if passage.label and passage.kind.startswith("lure "):
            lure = tuple(map(int, passage.kind.split()[1:]))
            spans = around(passage.text, [(lure[0], lure[1])])
            if spans and not any(a < spans[-1][1] and spans[0][0] < b for a, b in passage.keeps or ()):
                run = part(base(row, passage, f"{name} lure"), spans[0][0], spans[-1][1])
                yield replace(run, label=0.0, spots=(), keeps=(), weight=HARD)


def led(row: Row, dice: random.Random, name: str) -> Iterator[Pair]:
    """Answers that are whole pages: their first sentences, against those of other pages."""
    wrong = [passage for passage in row.passages if passage.label == 0]
    right = [passage for passage in row.passages if passage.label]
    for passage in [*right, *dice.sample(wrong, min(1 if right else 3, len(wrong)))]:
        pair = base(
            row, passage, f"{name} passage" if passage.label else f"{name} other", 0.5 if passage.silver else 1.0
        )
        end = max([end for _, end in sentences(pair.text) if end <= RUN], default=RUN)
        yield part(pair, 0, end)


def talked(row: Row, dice: random.Random, name: str) -> Iterator[Pair]:
    """Runs of a meeting's talk: most of a right one is about what is asked, wherever it is cut."""
    wrong = [passage for passage in row.passages if passage.label == 0]
    right = [passage for passage in row.passages if passage.label]
    for passage in dice.sample(right, min(2, len(right))):
        yield cut(base(row, passage, f"{name} passage", 0.7), dice)
    for passage in dice.sample(wrong, min(2, len(wrong))):
        yield cut(base(row, passage, f"{name} other"), dice)


def claimed(row: Row, dice: random.Random, name: str) -> Iterator[Pair]:
    """A claim and evidence: what refutes it does not support it, though it is no text to throw away."""
    for passage in row.passages:
        if passage.label:
            if row.more["verdict"] == "SUPPORTS":
                keeps = tuple(sentences(passage.text)) if len(sentences(passage.text)) == 1 else None
                yield replace(base(row, passage, f"{name} claim"), keeps=keeps)
            else:
                yield replace(base(row, passage, f"{name} claim"), label=0.0, spots=(), keeps=None)
    wrong = [passage for passage in row.passages if passage.label == 0]
    if row.more["verdict"] == "SUPPORTS" and wrong:
        yield base(row, dice.choice(wrong), f"{name} other", 0.5)


def steps(row: Row, dice: random.Random, name: str) -> Iterator[Pair]:
    """Passages that a question of several steps needs: each answers a part of it."""
    label = 0.7 if row.more["src"] == "musique" else 0.8
    wrong = [passage for passage in row.passages if passage.label == 0]
    for passage in row.passages:
        if passage.label:
            yield from whole(replace(base(row, passage, name, 0.5), label=label), dice)
    for passage in dice.sample(wrong, min(2, len(wrong))):
        yield cut(base(row, passage, name, 0.5), dice)


def named(row: Row, dice: random.Random, name: str) -> Iterator[Pair]:
    """Passages whose answer is known by its words alone; those of other passages are taken for wrong without it."""
    answers = [answer.strip(" .") for answer in row.answers]
    for passage in row.passages:
        if passage.label:
            spots = found(passage.text, answers)
            if spots:
                yield from whole(base(row, replace(passage, spots=spots), f"{name} passage", 0.7), dice)
        elif passage.label is None and not holds(passage.text, answers):
            pair = replace(base(row, passage, f"{name} other", 0.4), keeps=())
            yield cut(pair, dice)
