"""Grades kept between runs, by the evaluator's files, the question and the text: a sweep needs each only once."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

from benchmarks.evaluator_graders import in_place
from crag.core.protocols import RetrievalEvaluator
from crag.core.types import Grade, Passage


class KeptScores:
    """Scores 0..1 from one evaluator, remembered in a file under `folder` that is named after `version`."""

    def __init__(self, evaluator: RetrievalEvaluator, version: str, folder: Path) -> None:
        self._evaluator = evaluator
        self._path = folder / f"{hashlib.sha256(f'{evaluator.id} {version}'.encode()).hexdigest()[:24]}.json"
        kept = self._path.read_text(encoding="utf-8") if self._path.exists() else "{}"
        self._scores: dict[str, float] = json.loads(kept)

    def grades(self, question: str, texts: Sequence[str]) -> list[Grade]:
        """One grade a text, in order. Ends the program where the evaluator fails: a sweep over holes would mislead."""
        keys = [
            hashlib.sha256(f"{len(question)} {question}{text}".encode("utf-8", "replace")).hexdigest() for text in texts
        ]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._scores}
        passages = [Passage(id=key, text=text) for key, text in new.items()]
        for grade in self._evaluator.grade(question, passages):
            if grade.score is None:
                raise SystemExit(f"The evaluator failed: {grade.error}")
            self._scores[grade.passage_id] = grade.score
        return [Grade(passage_id=str(place), score=self._scores[key]) for place, key in enumerate(keys)]

    def strips(self, question: str, text: str, spans: Sequence[tuple[int, int]]) -> Sequence[float | None]:
        """Scores of spans of a text, each in its place; not kept, since they cost one reading a text."""
        return in_place(self._evaluator, question, text, spans)

    def save(self) -> None:
        """Write all scores, in one step."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        part = self._path.with_suffix(".part")
        part.write_text(json.dumps(self._scores), encoding="utf-8")
        os.replace(part, self._path)
