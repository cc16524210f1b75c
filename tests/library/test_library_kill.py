"""kill -9 at random moments (50 in all) while documents are added: what was confirmed is there, and search works."""

from __future__ import annotations

import random
from pathlib import Path

from crag.library.library import Library
from crag.library.postgres import Server
from tests.support.kills import add_until_killed
from tests.support.library_makers import HashEmbedder
from tests.support.sizes import sized

KILLS = sized(50, 8)
MOST = sized(60, 15)
SEED = 20240115


def test_kills_lose_nothing_that_was_confirmed(tmp_path: Path, server: Server | None, url: str) -> None:
    moments = random.Random(SEED)
    folder = tmp_path / "library"
    embedder = HashEmbedder()
    confirmed: list[str] = []
    for kill in range(KILLS):
        new = add_until_killed(folder, f"k{kill}", moments.uniform(0, 0.12), url)
        confirmed += new
        with Library.open(folder, embedder, server=server) as library:
            library.verify()
            stored = {document.id: document for document in library.documents.all()}
            assert set(new) <= stored.keys()
            assert set(confirmed) <= stored.keys()
            # At most the one document whose confirmation the kill cut off is there unannounced.
            assert len(stored) - len(confirmed) in (0, 1)
            confirmed = list(stored)
            found = library.search(f"k{kill}n0 harbour", 5)
            assert len(found) == 5
            for document in list(stored.values())[-2:]:
                assert len(library.documents.chunks(document.id)) == document.chunks == 40
                assert len(library.documents.file(document.id)) > 200_000
            if len(stored) > MOST:  # keeps the test quick, and lets deletes and kills meet on one file
                for document in list(stored.values())[:-10]:
                    library.documents.delete(document.id)
                confirmed = confirmed[-10:]
    assert confirmed
