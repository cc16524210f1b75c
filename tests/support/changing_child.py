"""A process that adds documents to a library, deletes its own and others', and searches, a number of times.

Arguments: the library's folder, a prefix for the documents' names, the database that holds the library, the Milvus that
has its index, how many steps. Prints "done", waits for a line, then prints how many chunks the index lacks and how many
it has too many.
"""

import random
import sys
from contextlib import suppress
from pathlib import Path

from crag.core.errors import EmptyLibraryError, NotFoundError
from crag.storage.library import Library
from crag.storage.postgres import server_at
from tests.support.library_makers import HashEmbedder, fill, index_at

KEPT = 6
"""Documents that stay, at least; of more, one is deleted in each step."""


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def step(library: Library, label: str, chance: random.Random) -> None:
    document = fill(library, label, 8)
    found = {each.chunk.document_id for each in library.search(label, 8)}
    stored = library.documents.all()
    # Unless the other process has deleted it meanwhile.
    assert document.id in found or document not in stored, "found as soon as it is there"
    if len(stored) > KEPT:
        gone = chance.choice(stored).id
        with suppress(NotFoundError):  # the other process was first
            library.documents.delete(gone)
        with suppress(EmptyLibraryError):
            assert gone not in {each.chunk.document_id for each in library.search("harbour", 50)}


def main(folder: str, prefix: str, url: str, uri: str, steps: str) -> None:
    chance = random.Random(prefix)
    with Library(Path(folder), HashEmbedder(), server=server_at(url), open_index=index_at(uri)) as library:
        for number in range(int(steps)):
            step(library, f"{prefix}n{number}", chance)
        say("done")
        sys.stdin.readline()
        found = library.verify()
        say(f"{len(found.missing)} {len(found.foreign)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
