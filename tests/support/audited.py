"""The audit log of a data folder, as another process than its server's reads it."""

from contextlib import closing
from pathlib import Path

from crag.admin.audit import AuditLog, Entry
from crag.admin.store import open_store


def audited(data: Path) -> list[Entry]:
    """All entries, oldest first."""
    with closing(open_store(data)) as store:
        return list(AuditLog(store).entries())[::-1]


def acts(data: Path, *kinds: str) -> list[tuple[str, str, str, str, bool]]:
    """Of these kinds: who, in which workspace, what, its detail, and whether it was refused."""
    return [
        (each.who, each.workspace, each.what, each.detail, each.refused) for each in audited(data) if each.act in kinds
    ]


def stored(data: Path) -> bytes:
    """All bytes that the log's file and its own log hold."""
    return b"".join(path.read_bytes() for path in sorted(data.glob("teams.db*")))
