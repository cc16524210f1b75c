"""Which chunk index a configuration comes to."""

from __future__ import annotations

from pathlib import Path

from crag.core.config import AppConfig, Keys
from crag.index.chunk_index import ChunkIndex, Contents
from crag.index.embedded import EmbeddedIndex


def opened(config: AppConfig, keys: Keys, folder: Path, contents: Contents) -> ChunkIndex:
    """The index of a library, whose own folder is given. Raises SettingsError and IndexUnavailableError."""
    if config.index == "milvus":
        from crag.index.milvus import MilvusIndex  # only who has a server needs its client

        token = keys.get("milvus")
        return MilvusIndex(config.milvus_uri, contents, token=token.get_secret_value() if token else "")
    return EmbeddedIndex(folder / "index", contents)
