"""What need not be asked twice: grades of texts, and web results with the time they were found."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from pydantic import TypeAdapter

from crag.core.types import Grade, WebPage
from crag.library.database import Database
from crag.library.store import select_in

_GRADE: TypeAdapter[Grade] = TypeAdapter(Grade)
_PAGES: TypeAdapter[tuple[WebPage, ...]] = TypeAdapter(tuple[WebPage, ...])


class Cache:
    """The grades and web results of one library: a GradeCache and a SearchCache. Thread-safe, across processes too."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load_grades(self, keys: Sequence[str]) -> dict[str, Grade]:
        """The grades stored under these keys; unknown keys are absent."""
        with self._database.read() as connection:
            rows = select_in(connection, "SELECT key, grade FROM grades WHERE key IN ({})", keys)
            return {key: _GRADE.validate_json(grade) for key, grade in rows}

    def save_grades(self, grades: dict[str, Grade]) -> None:
        """Store grades under their keys, in place of older ones."""
        if grades:
            rows = [(key, _GRADE.dump_json(grade).decode()) for key, grade in grades.items()]
            with self._database.write() as connection:
                connection.executemany("INSERT OR REPLACE INTO grades VALUES (?, ?)", rows)

    def load_search(self, key: str, *, hours: float) -> tuple[str, tuple[WebPage, ...]] | None:
        """When web results were found (ISO 8601, UTC) and what; None if never, or longer ago than so many hours."""
        with self._database.read() as connection:
            row = connection.execute("SELECT found_at, pages FROM searches WHERE key = ?", (key,)).fetchone()
        if row is None or datetime.now(UTC) - datetime.fromisoformat(row[0]) > timedelta(hours=hours):
            return None
        return str(row[0]), _PAGES.validate_json(row[1])

    def save_search(self, key: str, pages: Sequence[WebPage]) -> None:
        """Store web results with the present time, in place of older ones."""
        found_at = datetime.now(UTC).isoformat(timespec="seconds")
        row = (key, found_at, _PAGES.dump_json(tuple(pages)).decode())
        with self._database.write() as connection:
            connection.execute("INSERT OR REPLACE INTO searches VALUES (?, ?, ?)", row)
