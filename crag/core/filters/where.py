"""Filters over documents' fields, as people type them: `verified and confidence > 0.7 and date >= 2024`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property

from crag.core.errors import FilterError, InputError
from crag.core.filters.syntax import Clause, Condition, Either, Every, Not, Operand, Relation, clause_of
from crag.core.metadata import Fields, Kind, days_in

_MOST_CHARACTERS, _MOST_NAMED, _MOST_SHOWN = 2_000, 12, 60


@dataclass(frozen=True)
class Filter:
    """Which documents are searched. Made by `parse`; its text is canonical: `parse(str(filter)) == filter`."""

    clause: Clause

    def __str__(self) -> str:
        return str(self.clause)

    def matches(self, fields: Fields) -> bool:
        """Whether a document with these fields (`crag.core.metadata.fields_of`) meets it. Never raises."""
        return self._test(fields)

    @property
    def fields(self) -> frozenset[str]:
        """The names of the fields that it asks for; none where it lets every document through."""
        return frozenset(condition.name for condition in _conditions(self.clause))

    @cached_property
    def _test(self) -> Callable[[Fields], bool]:
        return self.clause.test()


def parse(text: str) -> Filter:
    """The filter that a text is; of an empty one, a filter that every document meets.

    At most 2,000 characters and 50 brackets or `not` inside one another. Raises FilterError that says where it can't be
    read and what was expected there.
    """
    _limit(text)
    parsed = Filter(clause_of(text))
    _limit(str(parsed))  # what it is kept as must be readable again
    return parsed


def check(filter: Filter, known: Mapping[str, Collection[Kind]]) -> None:
    """Raises FilterError where it asks for a field that is not among `known`, or for what that field can't be.

    `known`: the fields of the documents, with the kinds of value that each has (`crag.core.metadata.known_fields`).
    """
    for condition in _conditions(filter.clause):
        kinds = known.get(condition.name)
        if not kinds:
            raise FilterError(
                f'The filter asks for "{condition.name}" at column {condition.column}, which no document has.',
                _nearest(condition.name, known),
            )
        if clash := _clash(condition, kinds):
            piece = str(condition) if len(str(condition)) <= _MOST_SHOWN else f"{str(condition)[:_MOST_SHOWN]}…"
            examples = " or ".join(f"{condition.name} {_EXAMPLES[each]}" for each in sorted(kinds))
            raise FilterError(
                f"The filter compares what can't be compared at column {condition.column}, '{piece}': {clash}",
                f"Write it like: {examples}.",
            )


def _conditions(clause: Clause) -> Iterator[Condition]:
    match clause:
        case Condition():
            yield clause
        case Not(inner):
            yield from _conditions(inner)
        case Every(clauses) | Either(clauses):
            for each in clauses:
                yield from _conditions(each)


def _clash(condition: Condition, kinds: Collection[Kind]) -> str:
    """What of a condition no value of these kinds can meet; nothing where one can."""
    name, relation = condition.name, condition.relation
    kind = f"{name} is {' or '.join(_KINDS[each] for each in sorted(kinds))}"
    if relation == "exists":
        return ""
    if relation == "has":
        return "" if "list" in kinds else f"{kind}, and only a list has something."
    if relation == "contains":
        return "" if "text" in kinds else f"{kind}, and only a text contains something."
    if condition.bare and "boolean" not in kinds:
        return f"{kind}, and only what is true or false stands without a comparison."
    for operand in condition.operands:
        if any(_comparable(relation, operand, each) for each in kinds):
            continue
        if set(kinds) == {"list"} or (set(kinds) == {"boolean"} and operand.boolean is not None):
            return f'{kind}, which "{relation}" does not compare.'
        return f'{kind}; "{operand.text}" is not.'
    return ""


def _comparable(relation: Relation, operand: Operand, kind: Kind) -> bool:
    match kind:
        case "text":
            return operand.boolean is None
        case "number":
            return operand.number is not None
        case "boolean":
            return operand.boolean is not None and relation in ("=", "!=", "in")
        case "date":
            return days_in(operand.text) is not None
        case "list":
            return False


_KINDS: Mapping[Kind, str] = {
    "text": "a text",
    "number": "a number",
    "boolean": "true or false",
    "date": "a date",
    "list": "a list",
}
_EXAMPLES: Mapping[Kind, str] = {
    "text": "contains report",
    "number": ">= 1",
    "boolean": "= false",
    "date": ">= 2024-03",
    "list": 'has "annual report"',
}


def _nearest(name: str, known: Collection[str]) -> str:
    if near := get_close_matches(name, known, n=3):
        return f"Did you mean {' or '.join(near)}?"
    named = sorted(known)
    more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return f"Fields there are: {', '.join(named[:_MOST_NAMED])}{more}."


def _limit(text: str) -> None:
    if len(text) > _MOST_CHARACTERS:
        raise FilterError(
            f"The filter has {len(text):,} characters.", f"Use at most {_MOST_CHARACTERS:,}, counting needed spaces."
        )


ID = 12
"""How many characters of a document's id name it in a filter."""
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
