"""Which questions ended otherwise in another evaluation, and how. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crag.metrics.metrics import ResultRow

__all__ = ["Change", "changes"]


@dataclass(frozen=True, slots=True)
class Change:
    """One question under both, and what differs, in words; `better` None where neither way is better in itself."""

    first: ResultRow
    second: ResultRow
    what: tuple[tuple[str, bool | None], ...]


def changes(first: Sequence[ResultRow], second: Sequence[ResultRow]) -> list[Change]:
    """The questions in both that did not end alike, in the first's order."""
    theirs = {row.question_id: row for row in second}
    pairs = [(row, theirs[row.question_id]) for row in first if row.question_id in theirs]
    return [Change(one, other, what) for one, other in pairs if (what := _differences(one, other))]


_WATCHED = (
    ("answer_holds", "answer now says it", "answer no longer says it"),
    ("evidence_answer", "evidence now holds it", "evidence no longer holds it"),
    ("acted_holds", "now retrieved", "no longer retrieved"),
    ("abstention_right", "now rightly answered or abstained", "now wrongly answered or abstained"),
)


def _differences(one: ResultRow, other: ResultRow) -> tuple[tuple[str, bool | None], ...]:
    listed: list[tuple[str, bool | None]] = []
    if bool(one.problem) != bool(other.problem):
        listed.append(("now fails", False) if other.problem else ("no longer fails", True))
    for name, gained, lost in _WATCHED:
        before, after = getattr(one, name), getattr(other, name)
        if before is not None and after is not None and before != after:
            listed.append((gained if after else lost, bool(after)))
    if _other_action(one, other):
        listed.append((f"{one.action} → {other.action}", None))
    return tuple(listed)


def _other_action(one: ResultRow, other: ResultRow) -> bool:
    """Where one of them takes none, as plain RAG does, nothing changed about it."""
    return one.action is not None and other.action is not None and one.action is not other.action
