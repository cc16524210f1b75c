"""The local evaluator: a calibrated score with no key and no network, from a small cross-encoder that ships."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from crag.core.errors import CragError
from crag.core.types import Grade, GradedText, GradePart, Passage, QuotedAnswer, SetGrade, SetReadings, SpanReading
from crag.evaluation.confidence import ReadText, answer_features, load_answer_layer
from crag.evaluation.head import load_head, load_strip_head, probability
from crag.evaluation.scoring import joint_grade
from crag.evaluation.short import load_short
from crag.evaluation.sufficiency import NEAREST, load_set_layer, read_set
from crag.models.cross_encoder import FOLDER, MODEL_ID, CrossEncoder, Reading
from crag.models.runtime import MAX_CHARACTERS
from crag.text.sentences import sentences

BATCH = 16
"""Passages read together: grades come out after each so many."""
QUOTED = 140
REMEMBERED = 256
"""Latest readings that are kept, so that strips and short answers of what was just graded need no other."""


@dataclass(frozen=True, slots=True)
class _Read:
    """A reading, none of a text without words, and the log-odds that the text answers."""

    reading: Reading | None
    odds: float


class LocalEvaluator:
    """Reads question and passage together. Deterministic; a score depends on question and passage alone."""

    calls_models = False
    id = MODEL_ID

    def __init__(self, threads: int = 0, folder: Path = FOLDER) -> None:
        """`threads` 0: as many as this process may use. `folder` holds the model's files, read at the first grade."""
        self._folder = folder
        self._encoder = CrossEncoder(threads, folder)
        self._lock = threading.Lock()
        self._latest: OrderedDict[tuple[str, str], _Read] = OrderedDict()

    def grade(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
        """One grade a passage, in order. A passage that is no text gets a failed grade; one without words, 0."""
        for start in range(0, len(passages), BATCH):
            yield from self._graded(question, passages[start : start + BATCH])

    def grade_joint(self, question: str, passages: Sequence[Passage]) -> Grade:
        """One grade over the best evidence of all: the best passage's, or that of the best three read as one."""
        return joint_grade(self.grade, question, passages, self.id)

    def grade_strips(self, question: str, passage: Passage, spans: Sequence[tuple[int, int]]) -> list[float | None]:
        """The scores of the passage's [start, end) spans, in order, each judged where it stands; None where not.

        From the reading that graded the passage, where that was not long ago. A span without words scores 0; one that
        begins past the first 16,000 characters is not judged.
        """
        text = passage.text
        if not spans or not isinstance(text, str):
            return [None] * len(spans)
        try:
            strips, read = load_strip_head(self._folder), self._remembered(question, text)
        except CragError:
            return [None] * len(spans)
        scores: list[float | None] = []
        for start, end in ((max(0, start), min(max(0, end), len(text))) for start, end in spans):
            if read.reading is None or not text[start:end].strip():
                scores.append(0.0)
            elif start >= MAX_CHARACTERS:
                scores.append(None)
            else:
                scores.append(strips.score(read.reading, start, end, read.odds))
        return scores

    def grade_parts(self, question: str, text: str) -> tuple[GradePart, ...]:
        """What each reading adds to the log-odds of the text's score; none of a text without words.

        From the reading that graded it, where that was not long ago.
        """
        try:
            (head, lexicon), read = load_head(self._folder), self._remembered(question, text)
        except CragError:
            return ()
        return head.parts(read.reading, lexicon.coverage(question, text)) if read.reading else ()

    def read(self, question: str, passage: str) -> SpanReading | None:
        """The words of a passage that answer; None where it has no words, or the model can't be used."""
        try:
            short, read = load_short(self._folder), self._remembered(question, passage)
        except CragError:
            return None
        if read.reading is None or short is None:
            return None
        return short.read(question, passage, read.reading, probability(read.odds))

    def grade_answer(self, question: str, answer: QuotedAnswer) -> float | None:
        """How likely a quoted answer is right, 0..1; None where the model has no layer for it, or can't be used."""
        try:
            layer = load_answer_layer(self._folder)
            values = self.answer_features(question, answer) if layer else None
        except CragError:
            return None
        return layer.confidence(values) if layer and values else None

    def answer_features(self, question: str, answer: QuotedAnswer) -> tuple[float, ...] | None:
        """What the layer for answers weighs; None where the quoted text has no words. Raises ModelError."""
        _, lexicon = load_head(self._folder)
        read = [(text, self._remembered(question, text)) for text in answer.texts]
        texts = [ReadText(text, each.reading, each.odds) if each.reading else None for text, each in read]
        if not texts or texts[0] is None or not any(map(str.isalnum, texts[0].text)):
            return None
        return answer_features(question, answer, [each for each in texts if each], lexicon)

    def grade_set(self, question: str, texts: Sequence[GradedText]) -> SetGrade | None:
        """How likely the texts together answer, 0..1; None of no texts, of texts that no index searched by words, or
        where the model has no layer for it, or can't be used.
        """
        try:
            layer = load_set_layer(self._folder)
            readings = self.read_set(question, texts) if layer else None
        except CragError:
            return None
        if layer is None or readings is None:
            return None
        return SetGrade(score=layer.score(readings), readings=readings, evaluator=self.id)

    def read_set(self, question: str, texts: Sequence[GradedText]) -> SetReadings | None:
        """What the layer for sets weighs; None where `grade_set` has no score. Raises ModelError."""
        if all(each.keywords is None for each in texts):
            return None
        _, lexicon = load_head(self._folder)
        best = sorted(texts, key=lambda each: -each.score)[:NEAREST]
        read = [(each.text, self._remembered(question, each.text).reading) for each in best]
        found = [(text, reading) for text, reading in read if reading]
        return read_set(question, texts, found, lexicon) if found else None

    def _read(self, question: str, texts: Sequence[str]) -> list[_Read]:
        """Read the whole texts, and remember the readings."""
        head, lexicon = load_head(self._folder)
        found = [
            _Read(reading, head.odds(reading, lexicon.coverage(question, text)) if reading else 0.0)
            for text, reading in zip(texts, self._encoder.read(question, texts), strict=True)
        ]
        with self._lock:
            for text, read in zip(texts, found, strict=True):
                self._latest[_key(question, text)] = read
                self._latest.move_to_end(_key(question, text))
            while len(self._latest) > REMEMBERED:
                self._latest.popitem(last=False)
        return found

    def _remembered(self, question: str, text: str) -> _Read:
        with self._lock:
            known = self._latest.get(_key(question, text))
        return known or self._read(question, [text])[0]

    def _graded(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
        started = time.perf_counter()
        texts = [passage.text if isinstance(passage.text, str) else "" for passage in passages]
        try:
            found = self._read(question, texts)
        except CragError as error:
            for passage in passages:
                yield self._failed(passage.id, str(error), started)
            return
        seconds = (time.perf_counter() - started) / len(passages)
        for passage, text, read in zip(passages, texts, found, strict=True):
            if not isinstance(passage.text, str):
                yield self._failed(passage.id, "the passage is no text", started)
                continue
            score, reason = 0.0, "no words to read"
            if read.reading:
                score, reason = probability(read.odds), _reason(read.reading, text)
            yield Grade(passage_id=passage.id, score=score, reason=reason, evaluator=self.id, seconds=seconds)

    def _failed(self, passage_id: str, error: str, started: float) -> Grade:
        seconds = time.perf_counter() - started
        return Grade(passage_id=passage_id, score=None, error=error, evaluator=self.id, seconds=seconds)


def _key(question: str, text: str) -> tuple[str, str]:
    """All of the two that is read."""
    return question[:MAX_CHARACTERS], text[:MAX_CHARACTERS]


def _reason(reading: Reading, text: str) -> str:
    """What the score rests on, in plain words: the likeliest answer and the sentence it stands in."""
    around = next((text[a:b] for a, b in sentences(text) if a <= reading.start < b), text)
    sentence, answer = _quote(around), _quote(text[reading.start : reading.end])
    if reading.span > 0:
        return f"likely answer “{answer}” in: {sentence}"
    return f"no clear answer in it; closest: {sentence}"


def _quote(text: str) -> str:
    written = text.encode("utf-8", "replace").decode("utf-8")
    quote = " ".join("".join(letter if letter.isprintable() else " " for letter in written).split())
    return quote if len(quote) <= QUOTED else f"{quote[: QUOTED - 1].rstrip()}…"
