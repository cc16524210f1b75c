"""A process that creates one backup after another, or restores one and waits, until it is killed.

Arguments: "backup" and a folder, or "restore" and a backup; then a data folder, where a restore replaces what is there.
Prints a line as each begins, and one when it has ended.
"""

import itertools
import sys
from pathlib import Path

from crag.admin.backups import create_backup, restore_backup


def say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def main(what: str, file: str, data: str) -> None:
    for number in itertools.count():
        say("started")
        if what == "backup":
            create_backup(Path(data), Path(file))
        else:
            restore_backup(Path(file), Path(data), replace=True)
            say("ended")
            sys.stdin.read()
        say(f"ended {number}")


if __name__ == "__main__":
    main(*sys.argv[1:])
