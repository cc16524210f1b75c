"""Which place a person means: the one that the program works with, a data folder, or a database."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from crag.admin.moving import database_named
from crag.core.config import AppConfig
from crag.core.errors import NotFoundError
from crag.storage.places import DatabaseHome, DataFolder
from crag.storage.schemas import Workshop

__all__ = ["home_of"]


def home_of(said: str, config: AppConfig, stack: ExitStack, *, there: bool) -> DataFolder | DatabaseHome:
    """The place that is named so, closed with the stack; where nothing is said, the program's own.

    `there`: a data folder must be there. Raises NotFoundError, SettingsError and InputError.
    """
    url = database_named(said or ("database" if config.database_url else ""), config)
    if url:
        server = Workshop(url)
        stack.callback(server.close)
        return DatabaseHome(server)
    data = Path(said) if said else config.data
    if there and not (data / "workspaces").is_dir():
        raise NotFoundError(f"There is no data folder {data}, with a folder workspaces.", "Name another by --from.")
    return DataFolder(data)
