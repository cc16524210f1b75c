"""What all who use one data folder or database have in common: people, workspaces, links, limits and the audit log."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from crag.admin.audit import AuditLog
from crag.admin.links import Links
from crag.admin.people import People
from crag.admin.quotas import Quotas
from crag.admin.store import open_store
from crag.admin.workspaces import Workspaces
from crag.core.config import AppConfig
from crag.core.errors import StorageError
from crag.core.purging import Due
from crag.storage.places import StorageUse
from crag.storage.private import PrivateLibraries

if TYPE_CHECKING:
    from crag.storage.postgres import Server

_log = logging.getLogger(__name__)


class Teams:
    """The parts that stand beside the libraries, made once and knowing one another. Thread-safe, each of them."""

    def __init__(
        self,
        config: Callable[[], AppConfig],
        libraries: PrivateLibraries,
        server: Server | None,
    ) -> None:
        """`config` as it is now; `libraries` and `server`, where they lie."""
        self._config = config
        self.store = open_store(config().storage.data, server)
        """The tables of people, workspaces, links, spending and the audit log."""
        self.audit = AuditLog(self.store)
        self.people = People(self.store, self.audit, lambda: config().people)
        self.spaces, self.links = Workspaces(self.store, self.audit), Links(self.store, self.audit)
        self.quotas = Quotas(self.store, config, StorageUse(libraries.libraries))

    def purged(self, workspace: str, each: Due) -> None:
        """Notes that the program deleted a document whose time was over."""
        self.audit.note("delete", "program", workspace=workspace, what=f"purged {each.document.name}", detail=each.why)

    def tidy(self) -> None:
        """Remove old entries of the audit log."""
        try:
            self.audit.tidy(self._config().serving.audit_days)
        except StorageError as error:
            _log.warning("what is old was not removed: %s", error.message)

    def close(self) -> None:
        """Closes what is open of the store; the next use opens it again."""
        self.store.place.rest()
