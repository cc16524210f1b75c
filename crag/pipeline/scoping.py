"""Which documents of a library a run is asked of, by name: for its record, which outlives them."""

from __future__ import annotations

from crag.core import events as ev
from crag.core.filters.scope import scope_of
from crag.storage.library import Library


def resolve_scope(library: Library, where: str, at: float) -> ev.ScopeResolved | None:
    """The scope that a filter begins with, its documents by their names now; None where it has none."""
    scope = scope_of(where)
    if not scope:
        return None
    names = library.documents.names() if scope.documents else {}
    found = {id: name for id, name in names.items() if id.startswith(scope.documents)}
    gone = sum(1 for begun in scope.documents if not any(id.startswith(begun) for id in found))
    return ev.ScopeResolved(documents=tuple(found.values()), tags=scope.tags, gone=gone, at=at)
