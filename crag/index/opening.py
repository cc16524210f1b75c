"""Which chunk index a configuration comes to."""

from __future__ import annotations

from pathlib import Path

from crag.core.config import AppConfig
from crag.index.chunk_index import ChunkIndex, Contents
from crag.index.embedded import EmbeddedIndex


def opened(config: AppConfig, token: str, folder: Path, contents: Contents) -> ChunkIndex:
    """The index of a library, whose own folder is given. Raises SettingsError and IndexUnavailableError.

    `token` is the one that Milvus asks for, if it does.
    """
    if config.index == "milvus":
        from crag.index.milvus import MilvusIndex  # only who has a server needs its client

        return MilvusIndex(config.milvus_uri, contents, token=token)
    return EmbeddedIndex(folder / "index", contents)
