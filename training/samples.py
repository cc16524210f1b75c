"""Pairs as the numbers that the cross-encoder is trained on.

Without torch, so that processes which only prepare steps are small.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from corpora.pair import Pair
from crag.models.cross_encoder import WordReader, Words, cut_question, paired, title_end

MODELS = Path(__file__).resolve().parent.parent / "crag" / "models"
STEP_TOKENS = 3072
UNKNOWN = -1


@dataclass(frozen=True)
class Sample:
    """One input as numbers; `start`, `end`: positions of the answer's first and last token, 0 for none, UNKNOWN.

    `keep`: for each position 1 where its token is evidence, 0 where not, UNKNOWN for the question, for the title, and
    wherever nobody knows. `closeness` is not a number where it is unknown.
    """

    ids: list[int]
    kinds: list[int]
    asked: int
    label: float
    weight: float
    start: int
    end: int
    closeness: float
    keep: list[int]


@dataclass(frozen=True)
class Batch:
    """Samples one below the other, padded to the longest. `real`, `asked`: tokens of each, and of its question."""

    ids: NDArray[np.int32]
    kinds: NDArray[np.int32]
    real: NDArray[np.int32]
    asked: NDArray[np.int32]
    label: NDArray[np.float32]
    weight: NDArray[np.float32]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    closeness: NDArray[np.float32]
    keep: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.label)


class Reader:
    """Pairs to samples with the shipped tokenizer."""

    folder = MODELS / "local-evaluator"
    special = "[CLS]", "[SEP]", "[MASK]"
    last_special = 999
    """Ids up to this one are no pieces of words."""
    words_of = WordReader

    def __init__(self) -> None:
        self.tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self.tokenizer.encode_special_tokens = True
        vocabulary = self.tokenizer.get_vocab()
        self.words = self.words_of({number: piece for piece, number in vocabulary.items()}.__getitem__)
        self.cls, self.sep, self.mask = (vocabulary[name] for name in self.special)
        self._questions: dict[str, Words] = {}

    def read(self, pairs: Sequence[Pair]) -> list[Sample]:
        questions = [pair.question for pair in pairs if pair.question not in self._questions]
        for text, encoding in zip(
            questions, self.tokenizer.encode_batch(questions, add_special_tokens=False), strict=True
        ):
            self._questions[text] = self.words.words(cut_question(encoding.ids))
        passages = self.tokenizer.encode_batch([pair.read for pair in pairs], add_special_tokens=False)
        samples = []
        for pair, encoding in zip(pairs, passages, strict=True):
            question, ahead = self._questions[pair.question], title_end(pair.read)
            title = sum(last <= ahead for _, last in encoding.offsets)
            ids, kinds = paired(question, self.words.words(encoding.ids), title, self.cls, self.sep)
            asked = len(question.ids)
            start, end = self._place(pair, encoding.offsets, asked + 2, len(ids) - 1)
            closeness = math.nan if pair.closeness is None else pair.closeness
            keep = self._keep(pair, encoding.offsets, title)
            keep = [UNKNOWN] * (asked + 2) + keep[: len(ids) - asked - 3] + [UNKNOWN]
            samples.append(Sample(ids, kinds, asked, pair.label, pair.weight, start, end, closeness, keep))
        return samples

    @staticmethod
    def _keep(pair: Pair, offsets: Sequence[tuple[int, int]], title: int) -> list[int]:
        """For each token of the text whether it is evidence: a text that answers nothing has none."""
        keeps = () if pair.label == 0 and pair.keeps is None else pair.read_keeps
        if keeps is None:
            return [UNKNOWN] * len(offsets)
        inside = [int(any(start < last and first < end for first, last in keeps)) for start, end in offsets]
        return [UNKNOWN] * title + inside[title:]

    @staticmethod
    def _place(pair: Pair, offsets: Sequence[tuple[int, int]], ahead: int, room: int) -> tuple[int, int]:
        if pair.label == 0:
            return 0, 0
        for first, last in pair.read_spots[:1]:
            inside = [n for n, (start, end) in enumerate(offsets) if start < last and first < end]
            if inside and inside[-1] + ahead < room:
                return inside[0] + ahead, inside[-1] + ahead
        return -1, -1


def dealt(samples: Sequence[Sample], tokens: int = STEP_TOKENS) -> Iterator[list[Sample]]:
    """Runs of samples, which are sorted by length, that fit one step."""
    batch: list[Sample] = []
    for sample in samples:
        if batch and (len(batch) + 1) * max(len(sample.ids), len(batch[-1].ids)) > tokens:
            yield batch
            batch = []
        batch.append(sample)
    if batch:
        yield batch


def batched(samples: Sequence[Sample]) -> Batch:
    shape = len(samples), max(len(sample.ids) for sample in samples)
    ids, kinds, keep = np.zeros(shape, np.int32), np.zeros(shape, np.int32), np.full(shape, UNKNOWN, np.int8)
    for row, sample in enumerate(samples):
        count = len(sample.ids)
        ids[row, :count], kinds[row, :count], keep[row, :count] = sample.ids, sample.kinds, sample.keep
    return Batch(
        ids=ids,
        kinds=kinds,
        real=np.array([len(sample.ids) for sample in samples], np.int32),
        asked=np.array([sample.asked for sample in samples], np.int32),
        label=np.array([sample.label for sample in samples], np.float32),
        weight=np.array([sample.weight for sample in samples], np.float32),
        start=np.array([sample.start for sample in samples], np.int64),
        end=np.array([sample.end for sample in samples], np.int64),
        closeness=np.array([sample.closeness for sample in samples], np.float32),
        keep=keep,
    )
