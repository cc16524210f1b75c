"""What a server offers, and one request to it: for the tools and resources."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from crag.core.errors import NotFoundError
from crag.core.filters.where import Scope, narrow_filter
from crag.engine import Engine, Workspace
from crag.pipeline.work import Report, Work

T = TypeVar("T")

SCHEME = "crag://"


@dataclass(frozen=True, kw_only=True)
class ServerConfig:
    """What was chosen when the server started.

    `workspace` is that of clients that need no token; None: every request has a token, which opens its own. `tokens`:
    how
    many there are. `files`: the folder of which files may be added by their paths; None: none.
    """

    engine: Engine
    workspace: Workspace | None = "default"
    tokens: int = 0
    strategy: str = "balanced"
    read_only: bool = False
    files: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Request:
    """Who asks, of which workspace; `report` takes a sentence about how far the work is, and `sends_keys` is called
    before the engine is asked for what may leave the machine with the owner's keys. `caller`: the number of the token.
    """

    offer: ServerConfig
    workspace: Workspace
    work: Work
    caller: int
    client: str
    report: Report
    sends_keys: Callable[[], None]

    @property
    def engine(self) -> Engine:
        return self.offer.engine

    def follow(self, begin: Callable[[threading.Event], Iterator[T]]) -> AsyncGenerator[T, None]:
        """What `begin` yields, as `Work.follow` has it; `begin` is given the event that stops it."""
        cancel = threading.Event()
        return self.work.follow(begin(cancel), cancel, caller=self.caller, report=self.report)

    async def done(self, call: Callable[[], T]) -> T:
        """What `call` returns, as `Work.done` has it."""
        return await self.work.done(call, threading.Event(), caller=self.caller, report=self.report)

    def where(self, where: str, documents: Sequence[str], tags: Sequence[str]) -> str:
        """The filter for documents of these names or ids, and tags. Raises NotFoundError, FilterError."""
        if not documents and not tags:
            return where
        names = self.engine.library(self.workspace).documents.names() if documents else {}
        return narrow_filter(where, Scope(tuple(_id(said, names) for said in documents), tuple(tags)))


def _id(said: str, names: dict[str, str]) -> str:
    """The id of the document of this name, or whose id begins so."""
    found = [id for id, name in names.items() if said in (id, name)]
    found = found or [id for id in names if len(said) >= 6 and id.startswith(said)]
    if len(found) != 1:
        raise NotFoundError(
            f"{'Several documents are' if found else 'There is no document'} called {line(said)[:80]}.",
            "The tool documents lists names and ids.",
        )
    return found[0]


def line(text: str) -> str:
    """Text of anybody's as one line, without characters that nobody sees."""
    return "".join(each for each in " ".join(text.split()) if each.isprintable())


def document_uri(id: str, page: int | None = None) -> str:
    """The resource with a document's text, or one page's."""
    return f"{SCHEME}documents/{id}" + (f"/pages/{page}" if page else "")


def run_uri(id: str) -> str:
    """The resource with the record of a run."""
    return f"{SCHEME}runs/{id}"
