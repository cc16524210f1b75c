"""A process that adds documents to a library, deletes or purges some and searches, until it is killed.

Arguments: the library's folder, a prefix for the documents' names, the database that holds it or nothing, the Milvus
that has its index or nothing. Prints a line each: "added", "deleting" before and "deleted" after, with the id.
"""

import itertools
import sys
from pathlib import Path

from crag.core.filters import filter_of
from crag.core.purging import Conditions
from crag.storage.library import Library
from crag.storage.postgres import server_at
from tests.support.library_makers import HashEmbedder, fill, index_at


def say(word: str, id: str) -> None:
    sys.stdout.write(f"{word} {id}\n")
    sys.stdout.flush()


def main(folder: str, prefix: str, url: str, uri: str) -> None:
    own: list[str] = []
    with Library(Path(folder), HashEmbedder(), server=server_at(url), open_index=index_at(uri)) as library:
        for number in itertools.count():
            document = fill(library, f"{prefix}n{number}", 40, more=bytes(200_000))
            say("added", document.id)
            own.append(document.id)
            if number % 3 == 1:
                gone = own.pop(0)
                say("deleting", gone)
                if number % 6 == 1:
                    library.documents.delete(gone)
                else:
                    library.purges.purge(Conditions(where=filter_of(f'name = "{library.documents.get(gone).name}"')))
                say("deleted", gone)
            if number % 3 != 1:
                library.search("harbour", 3)  # also brings the index up to date, which a kill may cut short


if __name__ == "__main__":
    main(*sys.argv[1:])
