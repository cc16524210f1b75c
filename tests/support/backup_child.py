"""A process that takes one backup after another, or restores one and waits, until it is killed.

Arguments: "backup" and a folder, or "restore" and a backup; then the place, a data folder or the address of a database,
where what is there is replaced; then the data folder that the program works with. Prints a line as each begins, and one
when it has ended.
"""

import itertools
import sys
from contextlib import ExitStack
from pathlib import Path

from crag.admin.backup.archive import Archive
from crag.admin.backup.home import home_of
from crag.admin.backup.restoring import Restore
from crag.admin.backup.sources import source_of
from crag.admin.backup.taking import take_backup
from crag.admin.backup.targets import target_of
from crag.core.config import AppConfig


def say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def main(what: str, file: str, place: str, data: str) -> None:
    config = AppConfig.from_environment({}, data=data)
    with ExitStack() as stack:
        home = home_of(place, config, stack, there=False)
        for number in itertools.count():
            say("begun")
            if what == "backup":
                take_backup(source_of(home, config.data), Path(file))
            else:
                with Archive(Path(file)) as archive:
                    list(Restore(archive, target_of(home, config), replace=True).libraries())
                say("ended")
                sys.stdin.read()
            say(f"ended {number}")


if __name__ == "__main__":
    main(*sys.argv[1:])
