"""The local evaluator: a calibrated score with no key and no network, from the embedding model and a small head."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from crag.core.errors import CragError
from crag.core.protocols import Embedder
from crag.core.types import Grade, Passage
from crag.evaluator.features import Evidence, PassageView, evidence
from crag.evaluator.head import HEAD_ID, load_head
from crag.evaluator.lexicon import Question
from crag.evaluator.sentences import sentence_spans

__all__ = ["LocalEvaluator"]

CACHED_VECTORS = 8192
"""Sentence vectors kept, 1.5 KB each: strips of a graded chunk are then scored without the model."""
BATCH = 16
"""Passages embedded together: grades come out after each so many."""
QUOTED = 140
ECHO = 0.1
"""What is left of the score of a passage that only puts the question again: closeness is then no evidence."""


class LocalEvaluator:
    """Scores passages sentence by sentence. Deterministic; a score depends on question and passage alone."""

    calls_models = False

    def __init__(self, embedder: Embedder) -> None:
        self.id = f"{HEAD_ID}+{embedder.id}"
        self._embedder = embedder
        self._vectors: OrderedDict[bytes, NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()

    def grade(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
        """One grade a passage, in order. A passage that is no text gets a failed grade; one without words, 0."""
        if not passages:
            return
        for start in range(0, len(passages), BATCH):
            yield from self._graded(question, passages[start : start + BATCH])

    def grade_joint(self, question: str, passages: Sequence[Passage]) -> Grade:
        """One grade over the best evidence of all: the best passage's, or that of the best three read as one."""
        started = time.perf_counter()
        grades = list(self.grade(question, passages))
        scored = sorted((grade for grade in grades if grade.score is not None), key=lambda grade: -(grade.score or 0))
        if not scored:
            return self._failed("joint", "no passage could be graded", started)
        best = scored[0]
        texts = {passage.id: passage.text for passage in passages}
        graded = [best]
        if len(scored) > 1:
            joined = "\n".join(texts[grade.passage_id] for grade in scored[:3])
            graded += self.grade(question, [Passage(id="joint", text=joined)])
        top = max(graded, key=lambda grade: -1.0 if grade.score is None else grade.score)
        seconds = time.perf_counter() - started
        reason = f"best of {len(scored)} passages: {top.reason}"
        return Grade(passage_id="joint", score=top.score, reason=reason, evaluator=self.id, seconds=seconds)

    def _graded(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
        started = time.perf_counter()
        texts = [passage.text for passage in passages]
        spans = [sentence_spans(text) if isinstance(text, str) else [] for text in texts]
        cuts = [[text[start:end] for start, end in found] for text, found in zip(texts, spans, strict=True)]
        try:
            head, lexicon = load_head()
            vectors = self._embedded([question, *(cut for found in cuts for cut in found)])
        except CragError as error:
            for passage in passages:
                yield self._failed(passage.id, str(error), started)
            return
        asked, at = Question.read(question, lexicon), 1
        seen: list[Evidence | None] = []
        for text, found in zip(texts, spans, strict=True):
            view = PassageView.read(text, found, vectors[at : at + len(found)]) if found else None
            seen.append(evidence(asked, vectors[0], view) if view else None)
            at += len(found)
        rows = [item.values for item in seen if item]
        scores = iter(head.scores(np.stack(rows)) if rows else ())
        seconds = (time.perf_counter() - started) / len(passages)
        for passage, sentences, item in zip(passages, cuts, seen, strict=True):
            if not isinstance(passage.text, str):
                yield self._failed(passage.id, "the passage is no text", started)
                continue
            score, reason = (float(next(scores)), _reason(item, sentences)) if item else (0.0, "no words to read")
            if item and item.echo:
                score, reason = score * ECHO, f"only puts the question again; {reason}"
            yield Grade(passage_id=passage.id, score=score, reason=reason, evaluator=self.id, seconds=seconds)

    def _embedded(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of texts, from the cache where they are known."""
        keys = [hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts]
        with self._lock:
            known = {key: self._vectors[key] for key in keys if key in self._vectors}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            known.update(zip(missing, self._embedder.embed(list(missing.values())), strict=True))
        with self._lock:
            for key in dict.fromkeys(keys):
                self._vectors[key] = known[key]
                self._vectors.move_to_end(key)
            while len(self._vectors) > CACHED_VECTORS:
                self._vectors.popitem(last=False)
        return np.stack([known[key] for key in keys])

    def _failed(self, passage_id: str, error: str, started: float) -> Grade:
        seconds = time.perf_counter() - started
        return Grade(passage_id=passage_id, score=None, error=error, evaluator=self.id, seconds=seconds)


def _reason(seen: Evidence, sentences: Sequence[str]) -> str:
    """What the score rests on, in plain words."""
    written = sentences[seen.best].encode("utf-8", "replace").decode("utf-8")
    quote = " ".join("".join(letter if letter.isprintable() else " " for letter in written).split())
    quote = quote if len(quote) <= QUOTED else f"{quote[: QUOTED - 1].rstrip()}…"
    terms = f"covers {seen.met} of {seen.terms} key terms" if seen.terms else "the question has no key terms"
    return f"{terms}; closest sentence: {quote}"
