"""What else `Engine.ask` takes beside question, strategy and workspace, by name: for all that hands it on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TypedDict

from crag.core.config import AppConfig
from crag.core.exchanges import Exchange
from crag.core.keys import Keys
from crag.core.protocols import Retriever
from crag.core.settings import Settings
from crag.core.types import OutputMode


class Asking(TypedDict, total=False):
    """The keyword arguments of `Engine.ask`, where each is explained."""

    settings: Settings | None
    config: AppConfig | None
    keys: Keys | None
    allowed: Callable[[str], bool] | None
    cancel: threading.Event | None
    run_id: str | None
    history: Sequence[Exchange]
    standalone: str | None
    retriever: Retriever | None
    wanted: OutputMode
    via: str
    client: str
