"""Engines that share the local models: loaded once in a process, whatever number of engines its tests make."""

from __future__ import annotations

from functools import cache
from typing import Any

from crag.core.config import AppConfig
from crag.engine import Engine
from crag.testing.fakes import FakeClock


@cache
def parts() -> dict[str, Any]:
    """The embedder and the evaluator, as an engine takes them."""
    plain = Engine(AppConfig(threads=1))
    return {"embedder": plain.embedder, "evaluator": plain.evaluator}


def engine(config: AppConfig, **given: Any) -> Engine:
    """An engine under `config` with the shared models, where no others are given, and no pauses between attempts."""
    return Engine(config, **{**parts(), "clock": FakeClock(), **given})
