"""The local evaluator: a calibrated score with no key and no network, from a small cross-encoder that ships."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from crag.core.errors import CragError
from crag.core.types import Grade, Passage, SpanReading
from crag.evaluator.head import load_head
from crag.evaluator.joint import joint_grade
from crag.evaluator.short import load_short
from crag.models.cross_encoder import FOLDER, MODEL_ID, CrossEncoder, Reading
from crag.text.sentences import sentences

BATCH = 16
"""Passages read together: grades come out after each so many."""
QUOTED = 140


class LocalEvaluator:
    """Reads question and passage together. Deterministic; a score depends on question and passage alone."""

    calls_models = False
    id = MODEL_ID

    def __init__(self, threads: int = 0, folder: Path = FOLDER) -> None:
        """`threads` 0: as many as this process may use. `folder` holds the model's files, read at the first grade."""
        self._folder = folder
        self._encoder = CrossEncoder(threads, folder)

    def grade(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
        """One grade a passage, in order. A passage that is no text gets a failed grade; one without words, 0."""
        for start in range(0, len(passages), BATCH):
            yield from self._graded(question, passages[start : start + BATCH])

    def grade_joint(self, question: str, passages: Sequence[Passage]) -> Grade:
        """One grade over the best evidence of all: the best passage's, or that of the best three read as one."""
        return joint_grade(self.grade, question, passages, self.id)

    def read(self, question: str, passage: str) -> SpanReading | None:
        """The words of a passage that answer; None where it has no words, or the model can't be used."""
        try:
            (head, lexicon), short = load_head(self._folder), load_short(self._folder)
            [reading] = self._encoder.read(question, [passage])
        except CragError:
            return None
        if reading is None or short is None:
            return None
        return short.read(question, passage, reading, head.score(reading, lexicon.coverage(question, passage)))

    def _graded(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
        started = time.perf_counter()
        texts = [passage.text if isinstance(passage.text, str) else "" for passage in passages]
        try:
            head, lexicon = load_head(self._folder)
            readings = self._encoder.read(question, texts)
        except CragError as error:
            for passage in passages:
                yield self._failed(passage.id, str(error), started)
            return
        seconds = (time.perf_counter() - started) / len(passages)
        for passage, text, reading in zip(passages, texts, readings, strict=True):
            if not isinstance(passage.text, str):
                yield self._failed(passage.id, "the passage is no text", started)
                continue
            score, reason = 0.0, "no words to read"
            if reading:
                score = head.score(reading, lexicon.coverage(question, text))
                reason = _reason(reading, text)
            yield Grade(passage_id=passage.id, score=score, reason=reason, evaluator=self.id, seconds=seconds)

    def _failed(self, passage_id: str, error: str, started: float) -> Grade:
        seconds = time.perf_counter() - started
        return Grade(passage_id=passage_id, score=None, error=error, evaluator=self.id, seconds=seconds)


def _reason(reading: Reading, text: str) -> str:
    """What the score rests on, in plain words: the likeliest answer and the sentence it stands in."""
    around = next((text[a:b] for a, b in sentences(text) if a <= reading.start < b), text)
    sentence, answer = _quoted(around), _quoted(text[reading.start : reading.end])
    if reading.span > 0:
        return f"likely answer “{answer}” in: {sentence}"
    return f"no clear answer in it; closest: {sentence}"


def _quoted(text: str) -> str:
    written = text.encode("utf-8", "replace").decode("utf-8")
    quote = " ".join("".join(letter if letter.isprintable() else " " for letter in written).split())
    return quote if len(quote) <= QUOTED else f"{quote[: QUOTED - 1].rstrip()}…"
