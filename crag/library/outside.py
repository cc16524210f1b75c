"""What outside services brought and took: web results remembered with their time, and every call a run made."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pydantic import TypeAdapter

from crag.core.trace import Trace
from crag.core.types import WebPage

__all__ = ["DaySpending", "load_search", "save_calls", "save_search", "spending", "spending_of"]

_PAGES: TypeAdapter[tuple[WebPage, ...]] = TypeAdapter(tuple[WebPage, ...])


@dataclass(frozen=True, slots=True, kw_only=True)
class DaySpending:
    """What one model (or provider without models) took on one day, in UTC. `uncounted` calls named no tokens."""

    day: str
    provider: str
    model: str
    calls: int
    failed: int
    uncounted: int
    seconds: float
    input_tokens: int
    output_tokens: int


def load_search(connection: sqlite3.Connection, key: str, hours: float) -> tuple[str, tuple[WebPage, ...]] | None:
    """When it was found (ISO 8601, UTC) and what; None where it was never found, or longer ago than so many hours."""
    row = connection.execute("SELECT found_at, pages FROM searches WHERE key = ?", (key,)).fetchone()
    if row is None or datetime.now(UTC) - datetime.fromisoformat(row[0]) > timedelta(hours=hours):
        return None
    return str(row[0]), _PAGES.validate_json(row[1])


def save_search(connection: sqlite3.Connection, key: str, pages: Sequence[WebPage]) -> None:
    """Store what was found just now, in place of what was found earlier."""
    found_at = datetime.now(UTC).isoformat(timespec="seconds")
    row = (key, found_at, _PAGES.dump_json(tuple(pages)).decode())
    connection.execute("INSERT OR REPLACE INTO searches VALUES (?, ?, ?)", row)


def save_calls(connection: sqlite3.Connection, trace: Trace) -> None:
    """Store a run's calls, in place of those of a run of the same id. They stay when the run is deleted."""
    connection.execute("DELETE FROM calls WHERE run = ?", (trace.run_id,))
    connection.executemany(
        "INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                trace.run_id,
                trace.started_at,
                call.step,
                call.provider,
                call.model,
                call.seconds,
                call.input_tokens,
                call.output_tokens,
                call.error is not None,
            )
            for call in trace.calls
        ],
    )


def spending(connection: sqlite3.Connection, days: int) -> list[DaySpending]:
    """The sums of the last so many days, today included: latest day first, then by provider and model."""
    first = (datetime.now(UTC) - timedelta(days=days - 1)).date().isoformat()
    return _summed(connection, "at >= ?", (first,))


def spending_of(connection: sqlite3.Connection, first: str, behind: str) -> list[DaySpending]:
    """The same of all runs whose id lies from `first` to before `behind`, whenever they were."""
    return _summed(connection, "run >= ? AND run < ?", (first, behind))


def _summed(connection: sqlite3.Connection, where: str, values: tuple[str, ...]) -> list[DaySpending]:
    rows = connection.execute(
        "SELECT substr(at, 1, 10) AS day, provider, model, count(*), sum(failed), "
        "sum(model != '' AND NOT failed AND input_tokens IS NULL), sum(seconds), "
        "coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0) "
        f"FROM calls WHERE {where} GROUP BY day, provider, model ORDER BY day DESC, provider, model",
        values,
    )
    return [
        DaySpending(
            day=day,
            provider=provider,
            model=model,
            calls=calls,
            failed=failed,
            uncounted=uncounted,
            seconds=seconds,
            input_tokens=given,
            output_tokens=written,
        )
        for day, provider, model, calls, failed, uncounted, seconds, given, written in rows
    ]
