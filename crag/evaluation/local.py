"""The local evaluator: a calibrated score with no key and no network, from a small cross-encoder that ships."""

from __future__ import annotations

import math
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from crag.core.errors import CragError
from crag.core.types import Grade, GradedText, GradePart, Passage, QuotedAnswer, SetGrade, SetReadings, SpanReading
from crag.evaluation.heads import (
    ANSWER_FEATURES,
    CLIP,
    NEAREST,
    ODDS,
    SET_FEATURES,
    Layer,
    answer_features,
    clip,
    load_head,
    load_layer,
    load_strip_head,
    probability,
    read_set,
    set_features,
    stems,
    strip_features,
)
from crag.evaluation.refinement import joint_grade
from crag.evaluation.second_look import (
    FLOOR,
    Look,
    crosses_languages,
    is_english,
    likely_sentences,
    load_second,
    look_at_sentence,
    sentence_text,
)
from crag.models.any_language import AnyLanguage
from crag.models.cross_encoder import FOLDER, MODEL_ID, CrossEncoder, Reading
from crag.models.runtime import E5, MAX_CHARACTERS
from crag.text.memory import on_deletion
from crag.text.sentences import sentences

SHORT_FEATURES = ("span", "relevance", "score", "words", "fits", "repeats")
"""One name a number that the layer weighs, in order."""
LONGEST = 160
"""Characters; what is longer is no short answer."""

_EDGE = " \t\r\n\"'“”‘’«»,;:–—-"
_UNIT = re.compile(
    r"\s?%|[\s-]?(?:thousand|million|billion|trillion)(?:\s(?:dollars|euros|people))?\b|\s?(?:percent|per cent)\b"
)
_OUT_OF = re.compile(r"\d[\d,.]*\s+(?:out\s+)?of\s+(?:the\s+)?$")
"""What stands before the second of two numbers, "52,811 of 92,125": quoted together, for one alone misleads."""
_PAIRS = {")": "(", "]": "["}
_NUMBER_ASKED = re.compile(
    r"\bhow (?:many|much|old|long|far|tall|high|large|big|fast|often|deep|wide)\b|\bwhen\b"
    r"|\b(?:what|which)(?: \w+){0,2} (?:year|date|month|day|age|amount|number|percent\w*|share|rate|price|total)\b",
    re.IGNORECASE,
)
_NAME_ASKED = re.compile(r"\bwho(?:se|m)?\b", re.IGNORECASE)
_CHOICE = re.compile(r"\bor\b", re.IGNORECASE)
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred|half|"
    r"thousand|million|billion|none|once|twice|daily|weekly|monthly|yearly|annually)\b",
    re.IGNORECASE,
)


def trim_answer(text: str, start: int, end: int) -> tuple[int, int]:
    """The characters [start, end) as one would quote them. Equal where nothing is left."""
    while 0 < start < len(text) and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    while 0 < end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        end += 1
    while start < end and text[start] in _EDGE:
        start += 1
    while start < end and _loose(text, start, end):
        end -= 1
    if start < end and text[start].isdigit() and start and text[start - 1] in "$€£¥":
        start -= 1
    if start < end and text[start].isdigit() and (part := _OUT_OF.search(text, max(0, start - 40), start)):
        start = part.start()
    if start < end and text[end - 1].isdigit() and (unit := _UNIT.match(text, end)):
        end = unit.end()
    return start, end


def _loose(text: str, start: int, end: int) -> bool:
    """Whether the last character belongs to what is around the words."""
    last, before = text[end - 1], text[start : end - 1]
    if last in _PAIRS:
        return before.count(_PAIRS[last]) <= before.count(last)
    if last == ".":  # a sentence's stop, unless letters before it have one each: U.S.
        return re.search(r"\b\w\.\w$", before) is None
    return last in _EDGE + "([?!"


def features(question: str, text: str, span: tuple[int, int], reading: Reading, score: float) -> tuple[float, ...]:
    """The numbers that `SHORT_FEATURES` names. `score` is the text's calibrated score, 0..1."""
    said = text[slice(*span)]
    odds = max(1e-3, min(1 - 1e-3, score))
    asked, context_stems = stems(question), stems(said)
    return (
        max(-CLIP, min(CLIP, reading.span / 2)),
        max(-CLIP, min(CLIP, reading.relevance)),
        math.log(odds / (1 - odds)),
        math.log(1 + len(said.split())),
        fits_kind(question, said),
        len(asked & context_stems) / len(context_stems) if context_stems else 1.0,
    )


def fits_kind(question: str, said: str) -> float:
    """1 where a number or name is asked for and said, -1 where it is asked for and not said, else 0."""
    if _NUMBER_ASKED.search(question):
        return 1.0 if _NUMBER.search(said) else -1.0
    if _NAME_ASKED.search(question):
        return 1.0 if any(word[:1].isupper() for word in said.split()) else -1.0
    return 0.0


def read_words(layer: Layer, question: str, text: str, reading: Reading, score: float) -> SpanReading | None:
    """The words that the model points at, mended; None where there are none, or too many to be short.

    `layer`: of `SHORT_FEATURES`. `score`: of the text.
    """
    start, end = trim_answer(text, reading.start, reading.end)
    if not any(character.isalnum() for character in text[start:end]) or end - start > LONGEST:
        return None
    values = features(question, text, (start, end), reading, score)
    if values[SHORT_FEATURES.index("repeats")] == 1.0 and not _CHOICE.search(question):
        return None  # what the question says itself is no answer to it
    return SpanReading(start=start, end=end, confidence=layer.chance(values))


BATCH = 16
"""Passages read together: grades come out after each batch of this size."""
QUOTED = 140
REMEMBERED = 256
"""Latest readings that are kept, so that strips and short answers of what was just graded need no other."""


@dataclass(frozen=True, slots=True)
class _Read:
    """A reading, none of a text without words, the second look, and the log-odds that the text answers.

    `english`: which of the two models read it.
    """

    reading: Reading | None
    odds: float
    english: bool
    look: Look | None = None


class LocalEvaluator:
    """Reads question and passage together. Deterministic; a score depends on question and passage alone.

    One model reads English. Where question or passage is in another language, a second one does.
    """

    calls_models = False
    id = MODEL_ID

    def __init__(self, threads: int = 0, folder: Path = FOLDER, embedder: E5 | None = None) -> None:
        """`threads` 0: as many as this process may use. `folder` holds the model's files, read at the first grade.

        `embedder`: whose words the model of other languages reads; without it, one of its own.
        """
        self._folder = folder
        self._english_reader = CrossEncoder(threads, folder)
        self._any_reader = AnyLanguage(embedder or E5(threads), threads)
        self._lock = threading.Lock()
        self._latest: OrderedDict[tuple[str, str], _Read] = OrderedDict()
        on_deletion(self._forget)

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
            read = self._remembered(question, text)
            strips = load_strip_head(self._folder, english=read.english)
        except CragError:
            return [None] * len(spans)
        spans = [(max(0, start), min(max(0, end), len(text))) for start, end in spans]
        scores: list[float | None] = []
        for start, end in spans:
            if read.reading is None or not text[start:end].strip():
                scores.append(0.0)
            elif start >= MAX_CHARACTERS:
                scores.append(None)
            else:
                scores.append(strips.chance(strip_features(read.reading, start, end, read.odds)))
        return scores

    def grade_parts(self, question: str, text: str) -> tuple[GradePart, ...]:
        """What each reading adds to the log-odds of the text's score; none of a text without words.

        From the reading that graded it, where that was not long ago.
        """
        try:
            read = self._remembered(question, text)
            head, lexicon = load_head(self._folder, english=read.english)
            layer = load_second(self._folder, english=read.english)
        except CragError:
            return ()
        if read.reading is None:
            return ()
        parts = head.parts(read.reading, lexicon.coverage(question, text) if read.english else 0.0)
        return layer.parts(read.look, parts) if read.look and layer else parts

    def read(self, question: str, passage: str) -> SpanReading | None:
        """The words of a passage that answer; None where it has no words, or the model can't be used."""
        try:
            read = self._remembered(question, passage)
            short = load_layer("short", SHORT_FEATURES, self._folder)
        except CragError:
            return None
        if read.reading is None or short is None or not read.english:
            return None  # of the surest words in other languages, half were right
        return read_words(short, question, passage, read.reading, probability(read.odds))

    def grade_answer(self, question: str, answer: QuotedAnswer) -> float | None:
        """How likely a quoted answer is right, 0..1; None where the model has no layer for it, or can't be used."""
        try:
            name, values = self.answer_features(question, answer)
            layer = load_layer(name, ANSWER_FEATURES[name], self._folder) if values else None
        except CragError:
            return None
        return layer.chance(values) if layer else None

    def answer_features(self, question: str, answer: QuotedAnswer) -> tuple[str, tuple[float, ...]]:
        """A layer for answers, and what it weighs: nothing where the quoted text has no words. Raises ModelError."""
        read = self._remembered(question, answer.text)
        if read.reading is None or not any(map(str.isalnum, answer.text)):
            return "answers", ()
        if not read.english:
            crossing = crosses_languages(question, answer.text, load_head(self._folder)[1])
            found = {"odds": clip(read.odds, ODDS), "crossing": float(crossing)}
            return "answers elsewhere", answer_features("answers elsewhere", answer, found)
        return "answers", answer_features("answers", answer, {"relevance": clip(read.reading.relevance, CLIP)})

    def grade_set(self, question: str, texts: Sequence[GradedText]) -> SetGrade | None:
        """How likely the texts together answer, 0..1.

        None of no texts, where question or texts are not English, or where the model has no layer, or can't be used.
        """
        try:
            layer = load_layer("sets", SET_FEATURES, self._folder)
            readings = self.read_set(question, texts) if layer else None
        except CragError:
            return None
        if layer is None or readings is None:
            return None
        return SetGrade(score=layer.chance(set_features(readings)), readings=readings, evaluator=self.id)

    def read_set(self, question: str, texts: Sequence[GradedText]) -> SetReadings | None:
        """What the layer for sets weighs; None where `grade_set` has no score. Raises ModelError."""
        _, lexicon = load_head(self._folder)
        best = sorted(texts, key=lambda each: -each.score)[:NEAREST]
        read = [(each.text, self._remembered(question, each.text)) for each in best]
        if not all(each.english for _, each in read):
            return None  # the layer was fitted on English
        found = [(text, each.reading) for text, each in read if each.reading]
        return read_set(question, texts, found, lexicon) if found else None

    def looks(self, question: str, texts: Sequence[str]) -> list[Look | None]:
        """What a second look at each text finds; None of a text without words, or too unlikely. Raises ModelError."""
        return self._look(question, texts, self._read_once(question, texts, self._english(question, texts)))

    def _read(self, question: str, texts: Sequence[str]) -> list[_Read]:
        """Read the whole texts, look at them again, and remember both."""
        found = self._read_once(question, texts, self._english(question, texts))
        for at, look in enumerate(self._look(question, texts, found)):
            if look and (layer := load_second(self._folder, english=found[at].english)):
                found[at] = replace(found[at], odds=layer.odds(look), look=look)
        with self._lock:
            for text, read in zip(texts, found, strict=True):
                self._latest[_key(question, text)] = read
                self._latest.move_to_end(_key(question, text))
            while len(self._latest) > REMEMBERED:
                self._latest.popitem(last=False)
        return found

    def _english(self, question: str, texts: Sequence[str]) -> list[bool]:
        """Whether question and text are both English, for each text."""
        _, lexicon = load_head(self._folder)
        asked = is_english(question, lexicon)
        return [asked and is_english(text[:MAX_CHARACTERS], lexicon, asked) for text in texts]

    def _read_once(self, question: str, texts: Sequence[str], english: Sequence[bool]) -> list[_Read]:
        found: list[_Read] = [_Read(None, 0.0, own) for own in english]
        for own, reader in ((True, self._english_reader), (False, self._any_reader)):
            places = [at for at, each in enumerate(english) if each is own]
            if not places:
                continue
            head, lexicon = load_head(self._folder, english=own)
            for at, reading in zip(places, reader.read(question, [texts[at] for at in places]), strict=True):
                if reading:
                    covered = lexicon.coverage(question, texts[at]) if own else 0.0
                    found[at] = _Read(reading, head.odds(reading, covered), own)
        return found

    def _look(self, question: str, texts: Sequence[str], first: Sequence[_Read]) -> list[Look | None]:
        looks: list[Look | None] = [None] * len(texts)
        read = [text[:MAX_CHARACTERS] for text in texts]
        spans = [
            (at, span)
            for at, each in enumerate(first)
            if each.reading and each.odds >= FLOOR
            for span in likely_sentences(read[at], each.reading)
        ]
        windows = {(at, span): sentence_text(read[at], span) for at, span in spans}
        others = [(window, first[at].english) for (at, _), window in windows.items() if window != texts[at]]
        again = self._read_once(question, [window for window, _ in others], [english for _, english in others])
        odds = {each: found.odds for each, found in zip(others, again, strict=True)}
        best = dict[int, tuple[float, tuple[int, int]]]()
        for (at, span), window in windows.items():
            sentence = odds.get((window, first[at].english), first[at].odds)
            if at not in best or sentence > best[at][0]:
                best[at] = sentence, span
        for at, (sentence, span) in best.items():
            looks[at] = look_at_sentence(question, read[at], span, first[at].odds, sentence)
        return looks

    def _forget(self, gone: Collection[str]) -> None:
        with self._lock:
            self._latest.clear()

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
                score, reason = probability(read.odds), _reason(read.reading, read.look, text)
            yield Grade(
                passage_id=passage.id,
                score=score,
                reason=reason,
                evaluator=self.id,
                seconds=seconds,
                english=read.english,
            )

    def _failed(self, passage_id: str, error: str, started: float) -> Grade:
        seconds = time.perf_counter() - started
        return Grade(passage_id=passage_id, score=None, error=error, evaluator=self.id, seconds=seconds)


def _key(question: str, text: str) -> tuple[str, str]:
    """All of the two that is read."""
    return question[:MAX_CHARACTERS], text[:MAX_CHARACTERS]


def _reason(reading: Reading, look: Look | None, text: str) -> str:
    """What the score rests on, in plain words: the likeliest answer and the sentence it stands in."""
    if look and look.binding.missed:
        asked, other = look.binding.missed
        return f"it is about {other}, the question about {asked}: {_quote(text[look.start : look.end])}"
    around = next((text[a:b] for a, b in sentences(text) if a <= reading.start < b), text)
    sentence, answer = _quote(around), _quote(text[reading.start : reading.end])
    if reading.span > 0:
        return f"likely answer “{answer}” in: {sentence}"
    return f"no clear answer in it; closest: {sentence}"


def _quote(text: str) -> str:
    written = text.encode("utf-8", "replace").decode("utf-8")
    quote = " ".join("".join(letter if letter.isprintable() else " " for letter in written).split())
    return quote if len(quote) <= QUOTED else f"{quote[: QUOTED - 1].rstrip()}…"
