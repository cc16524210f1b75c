"""A process that adds documents to a library until it is killed, confirming each once it is stored.

Arguments: the library's folder, a prefix for the documents' names, the database that holds it or nothing. Prints one
document id a line.
"""

import itertools
import sys
from pathlib import Path

from crag.library.library import Library
from crag.library.records import server_at
from tests.support.library_makers import HashEmbedder, make_document


def main(folder: str, prefix: str, url: str) -> None:
    embedder = HashEmbedder()
    with Library.open(Path(folder), embedder, server=server_at(url)) as library:
        for number in itertools.count():
            document, data, chunks = make_document(f"{prefix}n{number}", chunks=40)
            data += bytes(200_000)
            library.documents.add(document, data, chunks, embedder.embed([chunk.indexed_text for chunk in chunks]))
            sys.stdout.write(document.id + "\n")
            sys.stdout.flush()
            if number % 3 == 2:
                library.search("harbour", 3)  # also writes the vector cache, which a kill may cut short


if __name__ == "__main__":
    main(*sys.argv[1:])
