"""Sentences about versions of a library: what one holds, how two differ, what a rollback did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from crag.storage.snapshots import BEFORE_ROLLBACK, DocumentChange, Kind, RolledBack, Snapshot
from crag.text.formats import count, join_names

KINDS: Mapping[Kind, str] = {
    "added": "added",
    "gone": "gone",
    "content": "other content",
    "chunks": "cut into other chunks",
    "fields": "other name, title or fields",
}
"""How a document differs between two versions."""
KEPT = "A snapshot keeps documents that you delete later. Delete the snapshot too where they must be gone."


def snapshot_text(snapshot: Snapshot) -> str:
    """What a snapshot holds, or why it can't be used."""
    if snapshot.problem:
        return snapshot.problem
    automatic = ", taken before a rollback" if snapshot.name.startswith(BEFORE_ROLLBACK) else ""
    return f"{count(snapshot.documents, 'document')}, {count(snapshot.chunks, 'chunk')}{automatic}"


def compared_sentence(changes: Sequence[DocumentChange]) -> str:
    """How many documents differ in which way."""
    if not changes:
        return "The documents are the same."
    counts = Counter(each.kind for each in changes)
    parts = [f"{counts[kind]:,} {said}" for kind, said in KINDS.items() if counts[kind]]
    chunks = sum(each.now - each.before for each in changes)
    return f"{count(len(changes), 'document')} changed: {join_names(parts)}; {chunks:+,} chunks."


def rolled_back_sentence(name: str, done: RolledBack) -> str:
    """What a rollback did, and how it is undone."""
    if not (done.brought or done.removed or done.described):
        return f"The documents are those of {name} already."
    parts = [
        f"{count(done.brought, 'document')} put back" if done.brought else "",
        f"{done.removed:,} taken out" if done.removed else "",
        f"the fields of {count(done.described, 'document')} put back" if done.described else "",
    ]
    return f"Rolled back to {name}: {join_names(list(filter(None, parts)))}. The state before it is {done.before.name}."
