"""Questions with the texts that a search finds for them, in one packed file; which of those texts may count as wrong.

A pack is a zip file: texts and questions as lines of JSON, the numbers of the texts found as unsigned integers. It
holds all that an epoch of mined pairs needs, so that it can travel to a machine without the data.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from corpora.pair import Spot
from corpora.sources.documents import words
from crag.text.sentences import sentences

LONG, PIECE = 900, 650
"""Characters: a longer text is cut to runs of whole sentences of about PIECE, as a library's chunks are."""
EVIDENCE, FEWEST = 0.7, 4
"""A text with this share of an evidence sentence's words may answer as well; shorter sentences tell nothing."""
SPOKEN = 8
"""Words up to which an answer is looked for as it is written; of a longer one the rarer words are."""
_WORD = re.compile(r"[^\W_]+(?:[.,][^\W_]+)*")
_TEXTS, _QUESTIONS, _FOUND, _COUNTS = "texts.jsonl", "questions.jsonl", "found.u32", "counts.u8"


@dataclass(frozen=True, slots=True)
class Text:
    """A chunk as a library would hold it. `group`: its document, by which data is split."""

    group: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Gold:
    """The number of a text that answers; `keeps` None: which sentences do is not known."""

    text: int
    spots: tuple[Spot, ...] = ()
    keeps: tuple[Spot, ...] | None = None


@dataclass(slots=True)
class Asked:
    """A question. `wrong`: texts that its set calls wrong; `same`, `near`: texts found in its document, and in all."""

    question: str
    group: str
    source: str
    answers: tuple[str, ...] = ()
    golds: tuple[Gold, ...] = ()
    wrong: tuple[int, ...] = ()
    same: tuple[int, ...] = ()
    near: tuple[int, ...] = ()


@dataclass
class Pack:
    texts: list[Text] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)


def normalize_words(text: str) -> str:
    """Lower-case words and numbers with single spaces around them, so that whole words can be looked for."""
    return f" {' '.join(_WORD.findall(text.lower()))} "


def contains_answer(text: str, answers: Iterable[str]) -> bool:
    """Whether any of the answers stands in the text, `text` as `normalize_words` gives it."""
    for answer in answers:
        said = normalize_words(answer)
        count = len(said.split())
        if not count or said.strip() in {"yes", "no"}:
            continue
        if count <= SPOKEN:
            if said in text:
                return True
        elif len(rare := words(answer)) >= FEWEST and len(rare & words(text)) >= EVIDENCE * len(rare):
            return True
    return False


def may_answer(text: str, held: set[str], answers: Iterable[str], evidence: Iterable[set[str]]) -> bool:
    """Whether a text that a search found might answer, and so is no example of a wrong one.

    `text`, `held`: its words in order and as a set. `evidence`: the words of each sentence that answers elsewhere.
    """
    return contains_answer(text, answers) or any(
        len(each) >= FEWEST and len(each & held) >= EVIDENCE * len(each) for each in evidence
    )


def cut_pieces(text: str) -> list[Spot]:
    """Where a long text is cut to runs of whole sentences; a short one stays whole."""
    if len(text) <= LONG:
        return [(0, len(text))]
    found: list[Spot] = []
    for start, end in sentences(text):
        if found and end - found[-1][0] <= PIECE:
            found[-1] = found[-1][0], end
        else:
            found.append((start, end))
    return found or [(0, len(text))]


def save(pack: Pack, path: Path) -> None:
    """Write a pack to a temporary file and rename it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    counts = np.array([(len(each.same), len(each.near), len(each.wrong)) for each in pack.asked], np.uint8)
    numbers = [number for each in pack.asked for number in (*each.same, *each.near, *each.wrong)]
    with zipfile.ZipFile(part, "w", zipfile.ZIP_LZMA) as file:
        _write(file, _TEXTS, "".join(_line([each.group, each.title, each.text]) for each in pack.texts).encode())
        _write(file, _QUESTIONS, "".join(map(_question, pack.asked)).encode())
        _write(file, _COUNTS, counts.tobytes())
        _write(file, _FOUND, np.array(numbers, "<u4").tobytes())
    part.replace(path)


def load(path: Path) -> Pack:
    """Raises ValueError where the file is damaged."""
    try:
        with zipfile.ZipFile(path) as file:
            texts = [Text(*json.loads(line)) for line in file.read(_TEXTS).splitlines()]
            rows = [json.loads(line) for line in file.read(_QUESTIONS).splitlines()]
            counts = np.frombuffer(file.read(_COUNTS), np.uint8).reshape(len(rows), 3)
            numbers = np.frombuffer(file.read(_FOUND), "<u4").tolist()
    except (OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} can't be read ({error}): make it with `python -m training.mine`.") from error
    asked, at = [], 0
    for row, (same, near, wrong) in zip(rows, counts.tolist(), strict=True):
        parts = numbers[at : at + same], numbers[at + same : at + same + near]
        last = numbers[at + same + near : at + same + near + wrong]
        at += same + near + wrong
        asked.append(_asked(row, *parts, last))
    return Pack(texts, asked)


def compute_digest(path: Path) -> str:
    """Sixteen hex digits of a pack's content."""
    with zipfile.ZipFile(path) as file:
        sums = [f"{each.filename} {each.CRC} {each.file_size}" for each in file.infolist()]
    return hashlib.sha256("\n".join(sums).encode()).hexdigest()[:16]


def _write(file: zipfile.ZipFile, name: str, content: bytes) -> None:
    """A member without a date, so that equal packs are equal files."""
    file.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_LZMA)


def _line(content: Sequence[Any]) -> str:
    return json.dumps(content, ensure_ascii=True, separators=(",", ":")) + "\n"


def _question(asked: Asked) -> str:
    golds = [[gold.text, gold.spots, gold.keeps] for gold in asked.golds]
    return _line([asked.question, asked.group, asked.source, asked.answers, golds])


def _asked(row: list[Any], same: list[int], near: list[int], wrong: list[int]) -> Asked:
    question, group, source, answers, golds = row
    made = tuple(Gold(number, _spots(spots) or (), _spots(keeps)) for number, spots, keeps in golds)
    return Asked(question, group, source, tuple(answers), made, tuple(wrong), tuple(same), tuple(near))


def _spots(given: list[list[int]] | None) -> tuple[Spot, ...] | None:
    return None if given is None else tuple((start, end) for start, end in given)
