"""What a question is asked of: some documents by their ids, those with some tags, or both; said as part of a filter.

A scope is a condition of the filter that a run is asked with, so it acts, is stored and is compared like any other. It
lets a document through that is one of those named or has one of the tags.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from crag.core.errors import InputError
from crag.core.filters.clauses import Clause, Condition, Either, Every, Operand
from crag.core.filters.where import Filter, parse

__all__ = ["ID", "Scope", "narrow_filter", "scope_of"]

ID = 12
"""So many characters of a document's id name it in a filter."""
_MOST = 100


@dataclass(frozen=True, slots=True)
class Scope:
    """The documents, by the beginnings of their ids, and the tags that a question is asked of; none: of all."""

    documents: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.documents or self.tags)


def narrow_filter(where: str, scope: Scope) -> str:
    """The filter `where` for documents of the scope alone, in its canonical text.

    Raises InputError for more than a hundred documents, FilterError where the whole would be too long.
    """
    if not scope:
        return where
    if len(scope.documents) > _MOST:
        raise InputError(
            f"A question can't be asked of {len(scope.documents)} documents one by one.",
            f"Choose at most {_MOST}, or give them a tag and ask of that.",
        )
    clauses = parse(where).clause
    rest = clauses.clauses if isinstance(clauses, Every) else (clauses,)
    return str(parse(str(Filter(Every((_clause(scope), *rest))))))


def scope_of(where: str) -> Scope:
    """The scope that is said first in a filter, however it was typed; an empty one where there is none."""
    clause = parse(where).clause
    first = clause.clauses[0] if isinstance(clause, Every) and clause.clauses else clause
    documents: list[str] = []
    tags: list[str] = []
    for each in first.clauses if isinstance(first, Either) else (first,):
        match each:
            case Condition("id", "in" | "=", operands):
                documents += [operand.text.casefold() for operand in operands]
            case Condition("tags", "has", (operand,)):
                tags.append(operand.text)
            case _:
                return Scope()
    return Scope(_once(documents), _once(tags))


def _clause(scope: Scope) -> Clause:
    """What a document of the scope meets."""
    named = Condition("id", "in", tuple(Operand(id[:ID]) for id in _once(scope.documents)))
    clauses: list[Clause] = [named] if scope.documents else []
    clauses += [Condition("tags", "has", (Operand(tag),)) for tag in _once(scope.tags)]
    return clauses[0] if len(clauses) == 1 else Either(tuple(clauses))


def _once(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
