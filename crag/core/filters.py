"""Filters over documents' fields, as dictionaries: `{"date": {">=": "2024"}, "tags": {"has": "audit"}}`.

All conditions must hold; a value alone is short for `{"=": value}`. Of the conditions under `any of`, one must hold:
`{"verified": true, "any of": {"source": "web", "tags": {"has": ["news", "press"]}}}`. A list there holds several such
dictionaries. Where people type, each condition is a text of its own: `date >= 2024`, `tags has audit`, `verified`.
"""

from __future__ import annotations

import json
import operator
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any

from crag.core.errors import FilterError, InputError
from crag.core.metadata import FIXED, Fields, Kind, days_in, field_name, format_value, read_value

Plain = str | int | float | bool
Test = Callable[[Any], bool]

ANY = "any of"
"""The key of conditions of which one must hold. No field has a space in its name."""

_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_DAYS_COMPARED: Mapping[str, Callable[[tuple[str, str], tuple[str, str]], bool]] = {
    "=": lambda value, asked: asked[0] <= value[0] and value[1] <= asked[1],
    "!=": lambda value, asked: value[1] < asked[0] or asked[1] < value[0],
    "<": lambda value, asked: value[1] < asked[0],
    "<=": lambda value, asked: value[1] <= asked[1],
    ">": lambda value, asked: asked[1] < value[0],
    ">=": lambda value, asked: asked[0] <= value[0],
}
"""How spans of days compare. A document's date that is less exact than what is asked holds where it surely does."""
_LISTED = ("in", "has", "not in", "not has")
RELATIONS = (*_COMPARED, *_LISTED, "contains", "not contains", "exists")
_TYPED = re.compile(
    r"""\s*+([^\s=!<>]++)\s*+(?:(<=|>=|!=|==|[=<>]|(?:not\ )?(?:in|has|contains)\b|exists\b)\s*+(.*+))?""",
    re.VERBOSE | re.DOTALL,
)
_KINDS: Mapping[Kind, tuple[str, str]] = {
    "text": ("a text", "contains report"),
    "number": ("a number", ">= 1"),
    "boolean": ("true or false", "= false"),
    "date": ("a date", ">= 2024-03"),
    "list": ("a list", "has annual report"),
}
"""Each kind of value in words, and a condition that it can meet."""
_MOST_CHARACTERS, _MOST_NAMED = 2_000, 12


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on one field. `value` is a tuple after `in` and `has`, true or false after `exists`.

    A document without the field meets it only after `not`, and where it asks that the field doesn't exist.
    """

    name: str
    relation: str
    value: Plain | tuple[Plain, ...]

    def __str__(self) -> str:
        if self.value is True and self.relation in ("=", "exists"):
            return self.name if self.relation == "=" else f"{self.name} exists"
        kind = "list" if self.relation in _LISTED else FIXED.get(self.name)
        return f"{self.name} {self.relation} {format_value(self.value, kind)}"

    def test(self) -> Test:
        """Whether a field's value meets it, None standing for none."""
        relation = self.relation.removeprefix("not ")
        test = self._test(relation, self.value)
        return test if relation == self.relation else lambda value: not test(value)

    def _test(self, relation: str, asked: Any) -> Test:
        dated = FIXED.get(self.name) != "text"  # a title that is written as a date is a text all the same
        if relation == "exists":
            return lambda value: (value not in (None, "", ())) is asked
        if relation == "has":
            texts = {str(each).casefold() for each in asked}
            return lambda value: isinstance(value, tuple | list) and not texts.isdisjoint(map(str.casefold, value))
        if relation == "contains":
            text = str(asked).casefold()
            return lambda value: (
                isinstance(value, str) and text in value.casefold() and not (dated and days_in(value) is not None)
            )
        if self.name == "id" and relation in ("=", "!=", "in"):  # it is shown by its beginning, which is enough
            every = asked if isinstance(asked, tuple) else (asked,)
            starts = tuple(str(each).casefold() for each in every)
            return lambda value: isinstance(value, str) and value.startswith(starts) is (relation != "!=")
        if relation == "in":
            tests = [_compare("=", each, dated) for each in asked]
            return lambda value: any(test(value) for test in tests)
        return _compare(relation, asked, dated)

    def kinds(self) -> set[Kind]:
        """The kinds of value that can meet it."""
        match self.relation.removeprefix("not "):
            case "exists":
                return set(_KINDS)
            case "has":
                return {"list"}
            case "contains":
                return {"text"}
        found: set[Kind] = set()
        for value in self.value if isinstance(self.value, tuple) else (self.value,):
            if isinstance(value, bool):
                found |= {"boolean"} if self.relation in ("=", "!=", "in", "not in") else set()
            else:
                found |= {"text"} if isinstance(value, str) else {"text", "number"}
                found |= {"date"} if days_in(str(value)) else set()
        return found


def _compare(relation: str, asked: Plain, dated: bool) -> Test:
    """Numbers with numbers, booleans for being the same, dates as spans of days, and texts whatever their case."""
    holds, days_hold, days = _COMPARED[relation], _DAYS_COMPARED[relation], days_in(str(asked))
    text, known, same = str(asked).casefold(), isinstance(asked, bool), relation in ("=", "!=")

    def compare(value: Any) -> bool:
        if isinstance(value, bool) or known:
            return same and known and isinstance(value, bool) and holds(value, asked)
        if isinstance(value, str):
            if dated and (span := days_in(value)):
                return days is not None and days_hold(span, days)
            return holds(value.casefold(), text)
        return isinstance(value, int | float) and isinstance(asked, int | float) and holds(value, asked)

    return compare


@dataclass(frozen=True)
class Filter:
    """Which documents are searched. Made by `filter_of`; of each clause one condition must hold. Empty, it lets all
    documents through."""

    clauses: tuple[tuple[Condition, ...], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.clauses)

    def __str__(self) -> str:
        return " and ".join(" or ".join(map(str, clause)) for clause in self.clauses)

    def matches(self, fields: Fields) -> bool:
        """Whether a document with these fields (`crag.core.metadata.fields_of`) meets it. Never raises."""
        for clause in self._tests:  # half the time of `all` and `any`, and there may be a hundred thousand documents
            for name, test in clause:
                if test(fields.get(name)):
                    break
            else:
                return False
        return True

    @cached_property
    def _tests(self) -> list[list[tuple[str, Test]]]:
        return [[(each.name, each.test()) for each in clause] for clause in self.clauses]

    @property
    def dictionary(self) -> dict[str, Any]:
        """What `filter_of` makes it of, in plain JSON."""
        found: dict[str, Any] = {}
        several: list[dict[str, Any]] = []
        for clause in self.clauses:
            [first, *others] = clause
            if others or first.relation in found.get(first.name, {}):
                several.append(_dictionary(clause))
            else:
                found.setdefault(first.name, {}).update(_dictionary(clause)[first.name])
        return {**found, **({ANY: several} if several else {})}

    @property
    def lines(self) -> list[str]:
        """Each clause as it is typed; `filter_of` makes the same of them."""
        return [_typed(clause) for clause in self.clauses]


EVERY = Filter()
"""Lets all documents through."""


def filter_of(said: Filter | Mapping[str, Any] | str | Sequence[str]) -> Filter:
    """The filter that a dictionary is, a condition as it is typed, a dictionary in JSON, or several of these texts.

    Raises FilterError that names the key and what it may be; also for more than 2,000 characters of JSON.
    """
    if isinstance(said, Filter):
        return said
    texts = said if isinstance(said, list | tuple) else [said]
    return _joined(clause for text in texts for clause in _read(text))


def _joined(clauses: Iterable[tuple[Condition, ...]]) -> Filter:
    made = Filter(tuple(sorted(set(clauses), key=repr)))  # the same conditions are the same filter
    size = len(json.dumps(made.dictionary, ensure_ascii=False))
    if size > _MOST_CHARACTERS:
        raise FilterError(f"The filter has {size:,} characters.", f"Use at most {_MOST_CHARACTERS:,}.")
    return made


def check(filter: Filter, known: Mapping[str, Collection[Kind]]) -> None:
    """Raises FilterError where it asks for a field that is not among `known`, or for what that field can't be.

    `known`: the fields of the documents, with the kinds of value that each has (`crag.core.metadata.known_fields`).
    """
    for condition in (each for clause in filter.clauses for each in clause):
        name, kinds = condition.name, known.get(condition.name)
        if not kinds:
            raise FilterError(f'The filter asks for "{name}", which no document has.', _nearest(name, known))
        if condition.kinds().isdisjoint(kinds):
            words, examples = zip(*(_KINDS[each] for each in sorted(kinds)), strict=True)
            raise FilterError(
                f"No document can meet {_short(str(condition))}: {name} is {' or '.join(words)}.",
                f"Write it like: {' or '.join(f'{name} {each}' for each in examples)}.",
            )


def _read(said: Any) -> Iterator[tuple[Condition, ...]]:
    if isinstance(said, str):
        if not said.strip().startswith("{"):
            yield from [(_condition(said),)] if said.strip() else []
            return
        try:
            said = json.loads(said)
        except (ValueError, RecursionError) as error:
            raise FilterError(f"The filter is no JSON: {_short(said)}.") from error
    if not isinstance(said, Mapping):
        raise FilterError(f"A filter can't be {_short(json.dumps(said, default=str))}.")
    for key, value in said.items():
        if key == ANY:
            for each in value if isinstance(value, list | tuple) else [value]:
                if not isinstance(each, Mapping) or not each:
                    raise FilterError(f'"{ANY}" holds {_short(str(each))}.', f'Write "{ANY}": {{"field": value, …}}.')
                yield tuple(sorted({one for name in each for one in _conditions(name, each[name])}, key=repr))
        else:
            yield from ((each,) for each in _conditions(key, value))


def _conditions(key: Any, said: Any) -> Iterator[Condition]:
    """The conditions that stand under a field's name."""
    name = _field(str(key))
    for given, value in (said if isinstance(said, Mapping) else {"=": said}).items():
        relation = "=" if given == "==" else given
        if relation not in RELATIONS:
            raise FilterError(f'"{name}" can\'t have {_short(str(relation))}.', f"It may be {', '.join(RELATIONS)}.")
        entries = value if isinstance(value, list | tuple) else (value,)
        listed = relation in _LISTED
        if not entries or (not listed and entries is value) or not all(map(_is_plain, entries)):
            may = "a text, a number, true or false" + (", or a list of them" if listed else "")
            raise FilterError(f'"{name}" {relation} can\'t be {_short(str(value))}.', f"It may be {may}.")
        if relation == "exists" and not isinstance(value, bool):
            raise FilterError(f'"{name}" exists can\'t be {_short(str(value))}.', "It may be true or false.")
        yield Condition(name, relation, tuple(entries) if listed else value)


def _condition(text: str) -> Condition:
    """A condition as it is typed."""
    found = _TYPED.fullmatch(text.strip())
    if found is None:
        raise FilterError(f"{_short(text)} is no condition.")
    name, relation, typed = _field(found[1]), found[2] or "=", (found[3] or "").strip()
    if not typed and found[2] not in (None, "exists"):
        raise FilterError(f"{_short(text)} gives no value.")
    value: Any = read_value(typed, FIXED.get(name)) if typed else True
    if relation in _LISTED:
        entries: Any = read_value(typed, "list")
        value = [read_value(each, FIXED.get(name)) if relation.endswith("in") else each for each in entries]
    elif FIXED.get(name) == "list":
        value = typed
    [condition] = _conditions(name, {relation: value})
    return condition


def _typed(clause: tuple[Condition, ...]) -> str:
    """As a condition, where that says the same; else in JSON."""
    text, whole = str(clause[0]), Filter((clause,))
    try:
        same = filter_of(text) == whole
    except FilterError:
        same = False
    return text if same else json.dumps(whole.dictionary, ensure_ascii=False)


def _is_plain(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, int | float) and abs(value) <= sys.float_info.max)


def _field(text: str) -> str:
    try:
        return field_name(text)
    except InputError as error:
        raise FilterError(error.message, error.remedy) from error


def _dictionary(conditions: Iterable[Condition]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for each in conditions:
        value = list(each.value) if isinstance(each.value, tuple) else each.value
        found.setdefault(each.name, {})[each.relation] = value
    return found


def _nearest(name: str, known: Collection[str]) -> str:
    if near := get_close_matches(name, known, n=3):
        return f"Did you mean {' or '.join(near)}?"
    named = sorted(known)
    more = f" and {len(named) - _MOST_NAMED} more" if len(named) > _MOST_NAMED else ""
    return f"Fields there are: {', '.join(named[:_MOST_NAMED])}{more}."


def _short(text: str) -> str:
    return f"'{text[:60]}…'" if len(text) > 60 else f"'{text}'"


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


def narrow_filter(where: Filter, scope: Scope) -> Filter:
    """The filter `where` for documents of the scope alone.

    Raises InputError for more than a hundred documents, FilterError where the whole would be too long.
    """
    if not scope:
        return where
    if len(scope.documents) > _MOST:
        raise InputError(
            f"A question can't be asked of {len(scope.documents)} documents one by one.",
            f"Choose at most {_MOST}, or give them a tag and ask of that.",
        )
    documents = {"id": {"in": [id[:ID] for id in scope.documents]}} if scope.documents else {}
    tags = {"tags": {"has": list(scope.tags)}} if scope.tags else {}
    return _joined(where.clauses + filter_of({ANY: {**documents, **tags}}).clauses)


def scope_of(where: Filter) -> Scope:
    """The scope that a filter has; an empty one where it has none."""
    keys = [("id", "in"), ("tags", "has")]
    for clause in where.clauses:
        said: dict[tuple[str, str], Any] = {(each.name, each.relation): each.value for each in clause}
        if all(key in keys for key in said):
            ids, tags = (said.get(key, ()) for key in keys)
            return Scope(tuple(str(id).casefold() for id in ids), tuple(map(str, tags)))
    return Scope()
