"""The embedding models that ship, by what `AppConfig.embedding` calls them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from crag.core.config import AppConfig
from crag.core.protocols import Embedder
from crag.models.e5 import E5
from crag.models.minilm import MiniLM

__all__ = ["EMBEDDERS", "embedder_of"]

EMBEDDERS: Mapping[str, Callable[..., Embedder]] = {"multilingual": E5, "small": MiniLM}


def embedder_of(config: AppConfig) -> Embedder:
    """The model that a configuration names, not yet loaded."""
    return EMBEDDERS[config.models.embedding](threads=config.models.threads)
