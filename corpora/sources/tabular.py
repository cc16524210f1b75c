"""Questions about tables: the chunks that the product makes of them, those with evidence rows and those without."""

from __future__ import annotations

import hashlib
import json
import random
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import crag.ingest
from corpora.pair import Pair, Spot
from corpora.sources import tables
from corpora.sources.stored import Passage, Row
from corpora.sources.tables import Piece, cells, chunked
from crag.ingest.chunking import CHUNKING_ID

RULED = {"tatqa": 0.25, "aitqa": 0.25, "fetaqa": 0.6, "wikitablequestions": 0.6}
"""The share of each set's tables that are printed with rules; the rest has none, or is a web page's."""
OF_WEB = {"fetaqa", "wikitablequestions"}
REST = 0.5
"""What a label counts that no person gave: a piece of the right table without its evidence rows."""


def is_table(text: str) -> bool:
    return " | " in text


class Tabular:
    """Chunks of tables, made once and kept in a file for the next time."""

    def __init__(self, rows: dict[str, Sequence[Row]]) -> None:
        self._rows = rows

    @cached_property
    def _pieces(self) -> dict[str, list[Piece]]:
        """By set and text: the chunks of every table."""
        wanted = {
            f"{name}\0{passage.text}": (name, passage)
            for name, rows in self._rows.items()
            for row in rows
            for passage in row.passages
            if is_table(passage.text)
        }
        code = [*sorted(Path(crag.ingest.__file__).parent.glob("*.py")), Path(tables.__file__), Path(__file__)]
        key = hashlib.sha256(b"".join(path.read_bytes() for path in code))
        key.update("\0".join([CHUNKING_ID, *wanted]).encode("utf-8", "replace"))
        path = Path(tempfile.gettempdir()) / "crag-training-tables" / f"{key.hexdigest()[:24]}.json"
        if not path.exists():
            made = {key: _chunks(name, passage) for key, (name, passage) in wanted.items()}
            path.parent.mkdir(exist_ok=True)
            part = path.with_suffix(f".{random.getrandbits(32):x}.part")
            part.write_text(json.dumps(made), encoding="utf-8")
            part.replace(path)
        stored = json.loads(path.read_text(encoding="utf-8"))
        return {key: [Piece(c, t, tuple(map(tuple, lines))) for c, t, lines in each] for key, each in stored.items()}

    def pairs(
        self, name: str, row: Row, dice: random.Random, *, silver: float = 0.5, negatives: int = 2, rest: bool = True
    ) -> Iterator[Pair]:
        """The pieces of the right table that hold evidence, one that doesn't, and pieces of other tables or text."""
        base = Pair(row.question, "", 0.0, row.group, name, keeps=())
        for passage in row.passages:
            if passage.label is None or not is_table(passage.text):
                continue
            pieces = self._pieces[f"{name}\0{passage.text}"]
            if not passage.label:
                if negatives > 0 and pieces:
                    negatives -= 1
                    weight = silver if passage.silver else 1.0
                    yield replace(_of(base, dice.choice(pieces)), weight=weight)
                continue
            yield from _told(base, passage, pieces, dice, rest=rest)

    def label_pieces(self, name: str, passage: Passage) -> Iterator[tuple[Piece, tuple[Spot, ...] | None]]:
        """The pieces of a table, each with its lines of evidence; None: which rows answer is not known."""
        pieces = self._pieces[f"{name}\0{passage.text}"]
        marked = _rows(passage)
        for piece in pieces:
            if passage.label and not marked:
                yield piece, None
            else:
                yield piece, piece.keeps(0, marked)

    def other(self, name: str, text: str, base: Pair, dice: random.Random) -> Pair:
        """`base` with a piece of a table that does not answer."""
        return _of(base, dice.choice(self._pieces[f"{name}\0{text}"]))


def _told(base: Pair, passage: Passage, pieces: Sequence[Piece], dice: random.Random, *, rest: bool) -> Iterator[Pair]:
    marked = _rows(passage)
    if not marked:
        # Which rows answer is not known: only a table that is one piece surely does.
        if len(pieces) == 1:
            yield replace(_of(base, pieces[0]), label=1.0, keeps=None)
        return
    others = []
    for piece in pieces:
        keeps = piece.keeps(0, marked)
        if keeps:
            yield replace(_of(base, piece), label=1.0, keeps=keeps)
        else:
            others.append(piece)
    if rest and others:
        yield replace(_of(base, dice.choice(others)), weight=REST)


def _of(base: Pair, piece: Piece) -> Pair:
    return replace(base, text=piece.text, title=piece.context)


def _rows(passage: Passage) -> set[int]:
    """The numbers of the rows that are evidence."""
    found, start = set(), 0
    for number, line in enumerate(passage.text.split("\n")):
        if any(a < start + len(line) and start < b for a, b in passage.keeps or ()):
            found.add(number)
        start += len(line) + 1
    return found


def _chunks(name: str, passage: Passage) -> list[Piece]:
    dice = random.Random(f"{name} {passage.text}")
    ruled, rows = dice.random() < RULED[name], cells(passage.text)
    return chunked([rows], passage.title, ruled=ruled or name in OF_WEB)


def reported(row: Row, dice: random.Random) -> Iterator[tuple[Piece, tuple[Spot, ...] | None]]:
    """Chunks of a report's page with the row's table and paragraphs, and the evidence in each; None: not known."""
    held = [passage for passage in row.passages if passage.label is not None]
    dice.shuffle(held)
    blocks = [cells(p.text) if is_table(p.text) else ((" ".join(p.text.split()),),) for p in held]
    for piece in chunked(blocks, "", ruled=False):
        inside = {block for _, _, block, _ in piece.lines}
        keeps: list[Spot] = []
        known = True
        for block in inside:
            passage = held[block]
            if not passage.label:
                continue
            if not passage.keeps:
                known = False
            elif is_table(passage.text):
                keeps += piece.keeps(block, _rows(passage))
            else:
                for start, end in passage.keeps:
                    said = " ".join(passage.text[start:end].split())
                    at = piece.text.find(said)
                    keeps += [(at, at + len(said))] if at >= 0 else []
        yield piece, tuple(sorted(keeps)) if known else None
