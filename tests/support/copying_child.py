"""A process that copies a library until it is killed, with a line for each step.

Arguments: the folder and the database of the source, those of the target (no database: it is in the folder).
"""

import sys
from pathlib import Path

from crag.admin.moving import copy_library
from crag.storage.places import Place
from crag.storage.records import server_at


def place(folder: str, url: str) -> Place:
    server = server_at(url)
    return Place.at(Path(folder)) if server is None else server.place(Path(folder).name)


def main(source: str, source_url: str, target: str, target_url: str) -> None:
    def tell(table: str, done: int, of: int) -> None:
        sys.stdout.write(f"{table} {done} {of}\n")
        sys.stdout.flush()

    copy_library(place(source, source_url), place(target, target_url), watch=tell)


if __name__ == "__main__":
    main(*sys.argv[1:])
