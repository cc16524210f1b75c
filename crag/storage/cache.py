"""Grades and web results that are remembered, so that asking again costs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from pydantic import TypeAdapter
from sqlalchemy import func, select

from crag.core.types import Grade, WebPage
from crag.storage.database import Part
from crag.storage.store import put, select_in
from crag.storage.tables import grades as kept_grades
from crag.storage.tables import reasons, searches
from crag.text.formats import iso_now

_GRADES = select(kept_grades.c.key, kept_grades.c.grade, func.coalesce(reasons.c.reason, "")).join_from(
    kept_grades, reasons, kept_grades.c.key == reasons.c.key, isouter=True
)
_GRADE: TypeAdapter[Grade] = TypeAdapter(Grade)
_PAGES: TypeAdapter[tuple[WebPage, ...]] = TypeAdapter(tuple[WebPage, ...])


class Cache(Part):
    """The grades and web results of one library: a `GradeCache`. Thread-safe, across processes too."""

    def load_grades(self, keys: Sequence[str]) -> dict[str, Grade]:
        """The grades stored under these keys; unknown keys are absent. Those from before a deletion have no reason."""
        with self._database.read() as connection:
            rows = select_in(connection, _GRADES, kept_grades.c.key, keys)
            return {key: replace(_GRADE.validate_json(grade), reason=reason) for key, grade, reason in rows}

    def save_grades(self, grades: dict[str, Grade]) -> None:
        """Store grades under their keys, in place of older ones."""
        if grades:
            rows = [
                {"key": key, "grade": _GRADE.dump_json(grade, exclude={"reason"}).decode()}
                for key, grade in grades.items()
            ]
            with self._database.write(synced=False) as connection:
                put(connection, kept_grades, rows)
                given = [{"key": key, "reason": grade.reason} for key, grade in grades.items() if grade.reason]
                if given:
                    put(connection, reasons, given)

    def load_search(self, key: str, *, hours: float) -> tuple[str, tuple[WebPage, ...]] | None:
        """When web results were found (ISO 8601, UTC) and what; None if never, or longer ago than `hours`."""
        with self._database.read() as connection:
            found = select(searches.c.found_at, searches.c.pages).where(searches.c.key == key)
            row = connection.execute(found).first()
        if row is None:
            return None
        age = datetime.now(UTC) - datetime.fromisoformat(row.found_at)
        if not timedelta(minutes=-1) < age <= timedelta(hours=hours):  # from the future: the clock was set back
            return None
        return row.found_at, _PAGES.validate_json(row.pages)

    def save_search(self, key: str, pages: Sequence[WebPage]) -> None:
        """Store web results with the present time, in place of older ones."""
        found_at = iso_now()
        row = {"key": key, "found_at": found_at, "pages": _PAGES.dump_json(tuple(pages)).decode()}
        with self._database.write(synced=False) as connection:
            put(connection, searches, [row])
