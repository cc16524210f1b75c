"""Fills a small disk of its own with documents, then deletes: run under `unshare`, in a namespace of mounts.

Prints what was stored before, what is left after, and whether the disk had room in between: JSON on one line.
"""

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from crag.core.errors import IndexUnavailableError, StorageError
from crag.core.protocols import SearchQuery
from crag.storage.library import Library
from tests.support import library_makers
from tests.support.library_makers import HashEmbedder

EMBEDDER = HashEmbedder()


def fill(library: Library, number: int) -> str:
    return library_makers.fill(library, f"doc{number}", 40, more=os.urandom(200_000)).id


def found_in(library: Library) -> int:
    """How many chunks a search finds; as a run does it, without the index where that has no room."""
    try:
        return len(library.search("harbour", 3))
    except IndexUnavailableError:
        return len(library.find_in_records(SearchQuery("part", 3)))


def main(folder: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "none", str(folder)], check=True)
    stored, messages = [], []
    with Library(folder / "library", EMBEDDER) as library:
        try:
            for number in range(1_000):
                stored.append(fill(library, number))
                found_in(library)
        except StorageError as error:
            messages.append(error.message)
    # Not a byte is left, whatever SQLite gave back.
    with suppress(OSError), (folder / "ballast").open("wb", buffering=0) as ballast:
        while ballast.write(bytes(4096)):
            pass
    free = os.statvfs(folder).f_bavail
    with Library(folder / "library", EMBEDDER) as library:
        before = len(library.documents.all())
        for id in stored[:8]:
            library.documents.delete(id)
        left = [document.id for document in library.documents.all()]
        shown = found_in(library)
        freed = os.statvfs(folder).f_bavail
        again = fill(library, 5_000)
    found = {
        "stored": len(stored),
        "before": before,
        "left": left == stored[8:],
        "found": shown,
        "messages": messages,
        "free": free,
        "freed": freed,
        "again": bool(again),
    }
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
