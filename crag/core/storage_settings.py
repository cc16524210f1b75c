"""Where libraries, their index and their records lie, and what leaves them by itself: a part of the configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, field_validator

from crag.core.errors import CragError
from crag.core.fields import days_of, setting

__all__ = ["StorageSettings"]


class StorageSettings(BaseModel):
    """Part of `AppConfig`."""

    data: Path = setting(Path("data"), "Data folder", "Where libraries are stored.", group="storage")
    database_url: str = setting(
        "",
        "Database",
        "The PostgreSQL database that holds the libraries, as postgresql+psycopg://user:password@host:5432/database; "
        "none: a file each in the data folder. Taken from the environment alone.",
        group="database",
        at_start=True,
        repr=False,
    )
    workspaces: Literal["auto", "one", "private"] = setting(
        "auto",
        "Libraries",
        "one: every browser sees the same library. private: each has its own, found by its address. "
        "auto: private where other machines can reach the app. Callers that a proxy brings are let in from the next "
        "start.",
        group="storage",
    )
    index: Literal["embedded", "milvus"] = setting(
        "embedded",
        "Chunk index",
        "Where chunks are searched. embedded: files beside each library. milvus: a server, at the address below.",
        group="storage",
        at_start=True,
    )
    milvus_uri: str = setting(
        "",
        "Milvus server",
        "http://host:19530, the https:// address of a cloud, or a path that ends in .db for Milvus Lite, which one "
        "process alone can use. Without user and password: these go into CRAG_MILVUS_TOKEN.",
        group="storage",
        at_start=True,
    )
    purge: str = setting(
        "",
        "Purge",
        "Documents that the running app takes out by itself, looking once an hour, in the words of the command "
        "purge, as --older-than 90d --unverified. For a day they can be brought back. None: it takes out none.",
        group="storage",
    )
    refresh: str = setting(
        "",
        "Fetch web pages again",
        "Documents from the web that the running app looks at again by itself, once an hour, where that was longer ago "
        "than this, as 7d or 2w; one that changed is replaced. None: it looks at none.",
        group="storage",
    )

    @field_validator("purge")
    @classmethod
    def _conditions(cls, given: str) -> str:
        if given.strip():
            from crag.core.purging import conditions_of  # only who purges needs it

            try:
                conditions_of(given)
            except CragError as error:
                raise ValueError(str(error)) from error
        return given.strip()

    @field_validator("refresh")
    @classmethod
    def _age(cls, given: str) -> str:
        if given.strip():
            days_of(given)
        return given.strip()

    @property
    def refresh_days(self) -> int:
        """How old a look at a web document may become; 0: any age."""
        return days_of(self.refresh) if self.refresh else 0
