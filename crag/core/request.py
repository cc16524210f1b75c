"""Requests as values: a question to the engine, and a query to a library."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from crag.core.config import AppConfig, Keys
from crag.core.protocols import Retriever
from crag.core.settings import Settings
from crag.core.strategies import strategy
from crag.core.types import Exchange, OutputMode

OWN = ("", "app")
"""How the runs of the app came in: `via` of them, and of those that earlier builds stored."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One question to the engine. Only the question is needed.

    - `strategy` names the published settings of the run; `settings` replace them.
    - `workspace` is a name, or the folder of a library.
    - `config` and `keys` choose other providers than the engine's own.
    - `allowed` approves a query before it leaves for the web, where `config.providers.ask_before_web` is set. Without
      it, no query leaves.
    - `cancel` stops the run when it is set.
    - `run_id` names the stored run and replaces an earlier one of that id. The default is a new, unguessable id.
    - `history` holds the exchanges before the question, oldest first. A question that needs them is rewritten to stand
      alone, unless `standalone` gives that question.
    - `retriever` is searched in place of the library, by its own filters.
    - `wanted="evidence"` ends the run before an answer is written.
    - `via` and `client` say which program asks, for the history of runs: see `RunStarted`.
    """

    question: str
    strategy: str = "balanced"
    workspace: str | Path = "default"
    settings: Settings | None = None
    config: AppConfig | None = None
    keys: Keys | None = None
    allowed: Callable[[str], bool] | None = None
    cancel: threading.Event | None = None
    run_id: str | None = None
    history: Sequence[Exchange] = ()
    standalone: str | None = None
    retriever: Retriever | None = None
    wanted: OutputMode = "answer"
    via: str = "python"
    client: str = ""

    @property
    def effective_settings(self) -> Settings:
        """The settings of the run. Raises SettingsError for a strategy that does not exist."""
        return self.settings or strategy(self.strategy).settings


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """One query to a library, and which documents it is about.

    At most `k` chunks are found. `mode` "bm25" finds only chunks that share a word with `text`. Only documents that
    meet the filter `where` are searched (`crag.core.filters.where`), and of these none below `min_confidence` (0..1),
    unless all are. With `half_life_days` above 0, a document's similarity halves every so many days since it was added.
    """

    text: str
    k: int = 10
    mode: Literal["hybrid", "dense", "bm25"] = "hybrid"
    where: str = ""
    min_confidence: float = 0.0
    half_life_days: float = 0.0
