"""Processes that add documents to a library and delete some, until they are killed."""

import signal
import time
from dataclasses import dataclass
from pathlib import Path

from tests.support.shell import line_of, started


@dataclass(frozen=True, kw_only=True)
class Confirmed:
    """What a process said before it was killed, by ids: `there` was added, `gone` was deleted.

    `open`: what was being deleted; the kill may have come before it or after.
    """

    there: list[str]
    gone: list[str]
    open: list[str]


def work_until_killed(
    folder: Path, prefix: str, seconds: float, url: str = "", uri: str = "", *, after: int = 1
) -> Confirmed:
    """Start such a process, kill it `seconds` after it has said `after` things; what it confirmed.

    `url`: the database that holds the library, where it is no file; `uri`: the Milvus that has its index, if one has.
    """
    with started("-m", "tests.support.adding_child", folder, prefix, url, uri) as child:
        said = "".join(line_of(child) for _ in range(after))
        time.sleep(seconds)
        child.kill()
        said += child.communicate()[0]
    assert child.returncode == -signal.SIGKILL, "the adding process must die by the kill, not of itself"
    # A line cut short by the kill was confirmed to nobody.
    rows = [line.split() for line in said.split("\n")[:-1]]
    added, began, gone = ([id for word, id in rows if word == step] for step in ("added", "deleting", "deleted"))
    return Confirmed(
        there=[id for id in added if id not in began], gone=gone, open=[id for id in began if id not in gone]
    )
