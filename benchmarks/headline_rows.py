"""The headline benchmark's rows, kept line by line in a file that survives a kill, and what they come to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.headline_model import Said
from crag.analysis.intervals import intervals
from crag.analysis.questions.matching import holds

Figures = dict[str, Any]

ARMS = ("no-retrieval", "plain-rag", "paper", "balanced")
BASE = "plain-rag"
"""Whom the others are held against."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One question answered in one arm. `made_of` is a digest of all that the row rests on, save the question.

    `right`: an accepted answer occurs in `answer`. `stated`: it does as whole words, by the product's own comparison.
    `empty`: no evidence was kept. `abstains`: the product's writer would have written nothing.
    `words`: of the evidence kept. `seconds` without those of the model, which are `writing`.
    """

    arm: str
    question_id: str
    made_of: str
    kind: str
    answer: str
    right: bool
    stated: bool
    prompt: str
    seconds: float
    writing: float
    model: str
    words: int = 0
    evidence: bool | None = None
    empty: bool = False
    abstains: bool = False
    action: str = ""
    searches: int = 0
    calls: int = 1
    input_tokens: int | None = None
    output_tokens: int | None = None


def accepted_in(answer: str, accepted: Sequence[str]) -> bool:
    """The paper's rule: an accepted answer occurs in the text, letter by letter (`match` of Self-RAG's metrics)."""
    return any(each in answer for each in accepted if each)


def row_of(said: Said, accepted: Sequence[str], **about: Any) -> Row:
    """A row of a reply, scored."""
    return Row(
        answer=said.text,
        right=accepted_in(said.text, accepted),
        stated=holds(said.text, accepted),
        prompt=said.prompt,
        writing=said.seconds,
        input_tokens=said.input_tokens,
        output_tokens=said.output_tokens,
        **about,
    )


class Journal:
    """Rows in a file, one a line. A line that a kill cut short is passed over; of two for one run the last counts."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        self._whole = not text or text.endswith("\n")
        self.rows = [row for line in text.splitlines() if (row := _read(line)) is not None]

    def add(self, row: Row) -> None:
        """Writes the row at once."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(("" if self._whole else "\n") + json.dumps(asdict(row), ensure_ascii=False) + "\n")
        self._whole = True
        self.rows.append(row)

    def done(self, made_of: Mapping[str, str]) -> dict[tuple[str, str], Row]:
        """By arm and question, the rows made of the same as each arm would be now."""
        return {(row.arm, row.question_id): row for row in self.rows if made_of.get(row.arm) == row.made_of}

    def said(self, model: str) -> dict[str, Said]:
        """What that model has said, by the digest of what was sent, whatever the arm."""
        return {
            row.prompt: Said(
                text=row.answer,
                prompt=row.prompt,
                seconds=row.writing,
                input_tokens=row.input_tokens,
                output_tokens=row.output_tokens,
                anew=False,
            )
            for row in self.rows
            if row.model == model
        }


def _read(line: str) -> Row | None:
    try:
        return Row(**json.loads(line))
    except (ValueError, TypeError):  # cut short, or written by another version
        return None


# ---- figures -------------------------------------------------------------------------------------------------------


MEASURES = ("right", "stated", "unless_abstaining", "words", "calls", "searches", "seconds", "writing", "evidence")


def measures(row: Row) -> list[float]:
    """What is averaged, in the order of MEASURES; NaN is unknown. `seconds` is the whole run, writing included."""
    return [
        float(row.right),
        float(row.stated),
        float(row.right and not row.abstains),
        float(row.words),
        float(row.calls),
        float(row.searches),
        row.seconds + row.writing,
        row.writing,
        float("nan") if row.evidence is None else float(row.evidence),
    ]


def figures(rows: Sequence[Row]) -> Figures:
    """Over all questions and by kind of text: every arm, and every arm less plain RAG, question by question."""
    kinds = sorted({row.kind for row in rows})
    parts = {"all": list(rows)} | {kind: [row for row in rows if row.kind == kind] for kind in kinds}
    return {name: _part(each) for name, each in parts.items()}


def _part(rows: Sequence[Row]) -> Figures:
    arms = {arm: {row.question_id: row for row in rows if row.arm == arm} for arm in ARMS}
    base = arms[BASE]
    return {
        "questions": len({row.question_id for row in rows}),
        "arms": {arm: _arm(list(own.values())) for arm, own in arms.items() if own},
        "less": {arm: _less(base, own) for arm, own in arms.items() if arm != BASE and base.keys() & own.keys()},
    }


def _arm(rows: Sequence[Row]) -> Figures:
    table = np.array([measures(row) for row in rows])
    actions = [row.action for row in rows if row.action]
    tokens = [row.input_tokens for row in rows if row.input_tokens is not None]
    return {
        "questions": len(rows),
        **{name: _mean(table[:, place], found) for place, (name, found) in _columns(table)},
        "empty": sum(row.empty for row in rows) / len(rows),
        "abstains": sum(row.abstains for row in rows) / len(rows),
        "input_tokens": sum(tokens) / len(tokens) if tokens else None,
        "actions": {name: actions.count(name) / len(actions) for name in sorted(set(actions))},
    }


def _less(base: Mapping[str, Row], own: Mapping[str, Row]) -> Figures:
    """An arm less plain RAG over the questions that both answered, and how often one alone is right."""
    shared = sorted(base.keys() & own.keys())
    table = np.array([measures(own[id]) for id in shared]) - np.array([measures(base[id]) for id in shared])
    return {
        "questions": len(shared),
        **{name: _mean(table[:, place], found) for place, (name, found) in _columns(table)},
        "gained": sum(own[id].right and not base[id].right for id in shared),
        "lost": sum(base[id].right and not own[id].right for id in shared),
    }


def _columns(table: Any) -> Any:
    return enumerate(zip(MEASURES, intervals(table), strict=True))


def _mean(values: Any, interval: tuple[float | None, float | None]) -> Figures:
    known = values[~np.isnan(values)]
    low, high = interval
    return {"value": float(known.mean()) if len(known) else None, "low": low, "high": high}
