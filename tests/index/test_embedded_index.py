"""The embedded index: the contract of all, and what its files go through."""

from __future__ import annotations

from pathlib import Path

import pytest

from crag.index.chunk_index import ChunkIndex, Contents
from crag.index.embedded import EmbeddedIndex
from crag.testing.index_contract import ChunkIndexContract


class TestContract(ChunkIndexContract):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.place = tmp_path / "index"

    def make(self, contents: Contents) -> ChunkIndex:
        return EmbeddedIndex(self.place, contents)
