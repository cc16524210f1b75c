"""A process that opens a library of an earlier version and kills itself in the middle of bringing it up to date.

Arguments: the library's folder; after how many steps of SQLite's, each of a hundred instructions. Ends by itself where
the work takes fewer.
"""

import itertools
import os
import signal
import sqlite3
import sys
from pathlib import Path

from crag.library import sqlite
from crag.library.library import Library
from tests.support.library_makers import HashEmbedder


def main(folder: str, last: str) -> None:
    steps, opened = itertools.count(1), sqlite._opened

    def step() -> int:
        if next(steps) >= int(last):
            os.kill(os.getpid(), signal.SIGKILL)
        return 0

    def counted() -> sqlite3.Connection:
        connection = opened()
        connection.set_progress_handler(step, 100)
        return connection

    sqlite._opened = counted
    Library.open(Path(folder), HashEmbedder()).close()
    sys.stdout.write(f"{next(steps)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
