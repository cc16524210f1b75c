"""What of one upload may be added: files and megabytes an hour, documents and chunks in all."""

from __future__ import annotations

import time
from collections.abc import Mapping

from crag.admin import told
from crag.admin.quantities import Bound, decide
from crag.admin.usage_store import SERVER, Refused, UsageStore, Want
from crag.core.errors import StorageError
from crag.storage.library import Library

__all__ = ["Intake"]

_BELIEVED = 5.0
"""Seconds for which it is believed what the workspace holds, beside what is added here."""
_MB = 1_000_000


class Intake:
    """For one thread. What others add to the same workspace within five seconds may come on top of its limit."""

    def __init__(
        self, ledger: UsageStore, workspace: str, library: Library, limits: Mapping[str, tuple[float, float]]
    ) -> None:
        """`limits` by quantity: the workspace's and the server's, 0 for none."""
        self._ledger, self._workspace, self._library, self._limits = ledger, workspace, library, limits
        self._held: dict[str, float] = {}
        self._others: dict[str, float] = {}
        self._looked = -_BELIEVED
        self._added = False

    def begin(self, size: int) -> None:
        """A new file of so many bytes is about to be read. Raises QuotaError and RoomError."""
        self._check("documents", 1)
        self._check("chunks", 1)
        wanted = {"files": 1.0, "upload_mb": size / _MB}
        wants = {
            what: Want(least=amount, most=amount, whole=False, own=self._limits[what][0], all=self._limits[what][1])
            for what, amount in wanted.items()
        }
        if not any(want.own or want.all for want in wants.values()):
            return
        outcome = self._ledger.reserve(self._workspace, "hour", wants)
        if isinstance(outcome, Refused):
            now, amount = self._ledger.now(), wanted[outcome.what]
            raise told.too_many(outcome.what, outcome.bound, outcome.within, now, amount)

    def fits(self, documents: int, chunks: int) -> None:
        """So much is about to be stored. Raises RoomError."""
        self._check("documents", documents)
        self._check("chunks", chunks)

    def stored(self, documents: int, chunks: int) -> None:
        """So much was stored."""
        self._added = True
        if self._held:
            self._held["documents"] += documents
            self._held["chunks"] += chunks

    def end(self) -> None:
        """Nothing more comes: what the workspace holds now is noted for the sums of all."""
        if self._added and self._workspace != SERVER:
            documents, chunks = self._library.size
            self._ledger.hold(self._workspace, {"documents": documents, "chunks": chunks})

    def _check(self, what: str, more: float) -> None:
        own, all = self._limits[what]
        if not more or not (own or all):
            return
        if (bound := decide(self._bounds(what), more)) is not None:
            self._looked = -_BELIEVED  # something may have been deleted since
            if (bound := decide(self._bounds(what), more)) is not None:
                raise told.full(what, bound, more)

    def _bounds(self, what: str) -> tuple[Bound, Bound]:
        if time.monotonic() >= self._looked + _BELIEVED:
            documents, chunks = self._library.size if self._library.made else (0, 0)
            self._held = {"documents": documents, "chunks": chunks}
            self._others = {each: self._elsewhere(each) for each in self._held}
            self._looked = time.monotonic()
        own, all = self._limits[what]
        held = self._held[what]
        return (
            Bound(whose="workspace", most=own, used=held),
            Bound(whose="server", most=all, used=held + self._others[what]),
        )

    def _elsewhere(self, what: str) -> float:
        if not self._limits[what][1]:
            return 0.0
        try:
            return self._ledger.held(what, besides=self._workspace)
        except StorageError:
            return self._others.get(what, 0.0)
