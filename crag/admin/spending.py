"""The dollars that outside calls have cost, by day, in the teams' store."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime

from sqlalchemy import insert, select, update

from crag.admin.store import spending
from crag.core.errors import StorageError
from crag.storage.database import Database

_log = logging.getLogger(__name__)


class Spending:
    """Thread-safe, across processes too.

    A day (UTC) has one row, which every process adds to: neither a restart nor a deleted run gives dollars back.
    """

    def __init__(self, store: Database, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.now = now
        self._store, self._lock = store, threading.Lock()
        self._unsaved = 0.0
        """Dollars that could not be stored. They count in this process, and are stored with the next ones."""

    def today(self) -> float:
        """The dollars of this day. Raises StorageError."""
        with self._store.read() as connection:
            found = connection.scalar(select(spending.c.dollars).where(spending.c.day == self._day()))
        return (found or 0.0) + self._unsaved

    def known(self) -> float:
        """The dollars of this day; where the store can't be read, those that this process could not store."""
        try:
            return self.today()
        except StorageError as error:
            _log.warning("dollars are counted by this process alone: %s", error.message)
            return self._unsaved

    def add(self, dollars: float) -> None:
        """Count what a call has cost."""
        if not dollars:
            return
        with self._lock:
            self._unsaved += dollars
            try:
                self._store_unsaved()
                self._unsaved = 0.0
            except StorageError as error:
                _log.warning("dollars are counted by this process alone: %s", error.message)

    def _store_unsaved(self) -> None:
        day, c = self._day(), spending.c
        with self._store.write() as connection:
            more = update(spending).where(c.day == day).values(dollars=c.dollars + self._unsaved)
            if not connection.execute(more).rowcount:
                connection.execute(insert(spending).values(day=day, dollars=self._unsaved))

    def _day(self) -> str:
        return self.now().astimezone(UTC).date().isoformat()
