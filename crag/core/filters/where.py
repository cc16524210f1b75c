"""Filters over documents' fields, as people type them: `verified and confidence > 0.7 and date >= 2024`.

A document without a field never meets a condition on it, not even one with `!=`; with `not` before it, it does.
Numbers compare with numbers, texts whatever their case, and dates as spans: `date = 2024-03` is any day of that March.

What is typed becomes a value that compares a document's fields with texts and numbers (`crag/core/filters/clauses.py`).
It is
no piece of SQL or Python and never put into one, so there is nothing to inject into.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property

from crag.core.errors import FilterError
from crag.core.filters.clauses import Clause, Condition, Either, Every, Not, Operand, Relation
from crag.core.filters.syntax import clause_of
from crag.core.metadata import Fields, Kind, days_in

__all__ = ["Filter", "check", "parse"]

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
