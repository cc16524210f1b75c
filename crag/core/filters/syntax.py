"""How a filter is read: its text to what it is made of, or an error that says where and what was expected there.

    filter    conditions, joined by "and", "or", "not" and brackets; "not" binds closest, then "and"
    condition FIELD | FIELD = VALUE (or != < <= > >=) | FIELD in (VALUE, …)
              | FIELD has VALUE | FIELD contains VALUE | FIELD exists
    VALUE     a word, or anything in quotes; inside them, a quote is written twice

A field alone is one that is true. `FIELD not in (…)`, `FIELD not has VALUE` and so on are `not FIELD in (…)`. The words
of the language may be written in capitals.

What a filter is made of: conditions on fields, and how they are joined. Each has its text and its test.

A test is a function of a document's fields, made once for each filter: a library is filtered document by document. It
looks values up and compares them, and does nothing else, so no text that a person types can do anything else either.
"""

from __future__ import annotations

import operator
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn, assert_never, cast

from crag.core.errors import FilterError, InputError
from crag.core.metadata import FIXED, RESERVED, Fields, boolean_in, days_in, field_name, number_in

Test = Callable[[Fields], bool]
Relation = Literal["=", "!=", "<", "<=", ">", ">=", "in", "has", "contains", "exists"]

WORD = r"[^\s()\[\],<>=!≠≤≥\"'“”„]+"
"""What can stand without quotes."""

_HOLDS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_DAYS_HOLD: dict[str, Callable[[tuple[str, str], tuple[str, str]], bool]] = {
    "=": lambda value, asked: asked[0] <= value[0] and value[1] <= asked[1],
    "!=": lambda value, asked: value[1] < asked[0] or asked[1] < value[0],
    "<": lambda value, asked: value[1] < asked[0],
    "<=": lambda value, asked: value[1] <= asked[1],
    ">": lambda value, asked: asked[1] < value[0],
    ">=": lambda value, asked: asked[0] <= value[0],
}
"""How spans of days compare. A document's date that is less exact than what is asked holds where it surely does."""


@dataclass(frozen=True, slots=True)
class Operand:
    """What a field is compared with: a text as it was typed, which may be read as a number, a boolean or a date too.

    `quoted`: it was put in quotes though it looks like a number or a boolean, and is read as neither.
    """

    text: str
    quoted: bool = False

    @property
    def number(self) -> int | float | None:
        return None if self.quoted else number_in(self.text)

    @property
    def boolean(self) -> bool | None:
        return None if self.quoted else boolean_in(self.text)

    def __str__(self) -> str:
        bare = not self.quoted and re.fullmatch(WORD, self.text)
        if bare and (self.text.lower() not in RESERVED or self.boolean is not None):
            return self.text
        return '"' + self.text.replace('"', '""') + '"'


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on one field. A document without the field never meets it, and neither does one whose value is of a
    kind that the relation can't compare.

    `operands`: one, but several after `in` and none after `exists`. `column`: where it stands in the text, from 1.
    """

    name: str
    relation: Relation
    operands: tuple[Operand, ...] = ()
    column: int = field(default=0, compare=False)

    @property
    def bare(self) -> bool:
        """Whether the field's name alone says it."""
        return self.relation == "=" and self.operands[0].boolean is True

    def __str__(self) -> str:
        if self.bare:
            return self.name
        match self.relation:
            case "exists":
                return f"{self.name} exists"
            case "in":
                return f"{self.name} in ({', '.join(map(str, self.operands))})"
            case _:
                return f"{self.name} {self.relation} {self.operands[0]}"

    def test(self) -> Test:
        match self.relation:
            case "exists":
                return _exists(self.name)
            case "has":
                return _has(self.name, self.operands[0].text.casefold())
            case "contains":
                return _contains(self.name, self.operands[0].text.casefold())
            case "=" | "!=" | "in" if self.name == "id":
                return _begins(self.operands, meets=self.relation != "!=")
            case "in":
                return _joined([_compares(self.name, "=", each) for each in self.operands], every=False)
            case "=" | "!=" | "<" | "<=" | ">" | ">=":
                return _compares(self.name, self.relation, self.operands[0])
            case _:
                assert_never(self.relation)


@dataclass(frozen=True, slots=True)
class Not:
    """Met by all that does not meet the clause, so also by a document that has no such field."""

    clause: Clause

    def __str__(self) -> str:
        return f"not {_inner(self.clause, Every, Either)}"

    def test(self) -> Test:
        inner = self.clause.test()
        return lambda fields: not inner(fields)


@dataclass(frozen=True, slots=True)
class Every:
    """Met where every clause is; of no clauses, always."""

    clauses: tuple[Clause, ...] = ()

    def __str__(self) -> str:
        return " and ".join(_inner(each, Every, Either) for each in self.clauses)

    def test(self) -> Test:
        return _joined([each.test() for each in self.clauses], every=True) if self.clauses else lambda fields: True


@dataclass(frozen=True, slots=True)
class Either:
    """Met where one of the clauses is."""

    clauses: tuple[Clause, ...]

    def __str__(self) -> str:
        return " or ".join(_inner(each, Either) for each in self.clauses)

    def test(self) -> Test:
        return _joined([each.test() for each in self.clauses], every=False)


Clause = Condition | Not | Every | Either


def _inner(clause: Clause, *bracketed: type) -> str:
    return f"({clause})" if isinstance(clause, bracketed) else str(clause)


def _joined(tests: Sequence[Test], every: bool) -> Test:
    """Met where every test is, or one. Halved until one is left: twice as fast as `all` and `any`, and never deep."""
    if len(tests) == 1:
        return tests[0]
    first, second = (_joined(half, every) for half in (tests[: len(tests) // 2], tests[len(tests) // 2 :]))
    return (
        (lambda fields: first(fields) and second(fields)) if every else lambda fields: first(fields) or second(fields)
    )


def _compares(name: str, relation: str, operand: Operand) -> Test:
    """Numbers with numbers, booleans for being the same, dates as spans of days, and texts whatever their case.

    So `true` without quotes is never a text, while 12 is a number for a number and a text for a text.
    """
    holds, days_hold = _HOLDS[relation], _DAYS_HOLD[relation]
    text, number, boolean, days = operand.text.casefold(), operand.number, operand.boolean, days_in(operand.text)
    same, dated = relation in ("=", "!="), _dated(name)

    def compares(fields: Fields) -> bool:
        value = fields.get(name)
        if isinstance(value, str):
            if dated and (span := days_in(value)):
                return days is not None and days_hold(span, days)
            return boolean is None and holds(value.casefold(), text)
        if isinstance(value, bool):
            return same and boolean is not None and holds(value, boolean)
        return number is not None and isinstance(value, int | float) and holds(value, number)

    return compares


def _begins(operands: Sequence[Operand], *, meets: bool) -> Test:
    """Of a document's id, the beginning is enough: so it is shown, and a filter can name a hundred documents."""
    prefixes = tuple(each.text.casefold() for each in operands)

    def begins(fields: Fields) -> bool:
        value = fields.get("id")
        return isinstance(value, str) and value.startswith(prefixes) is meets

    return begins


def _has(name: str, text: str) -> Test:
    def has(fields: Fields) -> bool:
        value = fields.get(name)
        if not isinstance(value, tuple | list):
            return False
        return text in [entry.casefold() for entry in value if isinstance(entry, str)]

    return has


def _contains(name: str, text: str) -> Test:
    dated = _dated(name)

    def contains(fields: Fields) -> bool:
        value = fields.get(name)
        return isinstance(value, str) and text in value.casefold() and not (dated and days_in(value))

    return contains


def _exists(name: str) -> Test:
    """A field that is always there counts where it says something: an empty text or list is none."""

    def exists(fields: Fields) -> bool:
        value = fields.get(name)
        return value is not None and not (isinstance(value, str | tuple | list) and not value)

    return exists


def _dated(name: str) -> bool:
    """Whether a text that is written as a date is one: not where the field is a text whatever it says, as a title."""
    return FIXED.get(name) != "text"


_MOST_DEPTH = 50

_TOKENS = re.compile(
    rf"""(?<!\s)\s*+(?:
        (?P<relation><=|>=|!=|<>|==|[=<>≠≤≥])
      | (?P<sign>[(),])
      | (?P<quoted>"(?:[^"]|"")*"|'(?:[^']|'')*'|[“”„][^“”„]*[“”])
      | (?P<word>{WORD})
      | (?P<other>\S)
    )""",
    re.VERBOSE,
)
_UNPRINTED = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_SAME: Mapping[str, Relation] = {"==": "=", "<>": "!=", "≠": "!=", "≤": "<=", "≥": ">="}
_WORDED = ("in", "has", "contains", "exists")
_RELATIONS = "=, !=, <, <=, >, >=, in, has, contains or exists"


def clause_of(text: str) -> Clause:
    """What the text of a filter says; of an empty text, a clause that is always met.

    Raises FilterError, also for more than 50 brackets and `not` inside one another.
    """
    flat = re.sub(r"\s", " ", unicodedata.normalize("NFC", text))
    if found := _UNPRINTED.search(flat):
        raise FilterError(f"The filter holds a character that is no text, at column {found.start() + 1}.", "Remove it.")
    return _Parser(flat).whole()


@dataclass(frozen=True, slots=True)
class _Token:
    """`kind` is "relation", "sign", "quoted", "word", "other", or "end". `column` counts from 1."""

    kind: str
    text: str
    column: int

    @property
    def keyword(self) -> str:
        """The word of the language that it is, in small letters; else nothing."""
        return self.text.lower() if self.kind == "word" and self.text.lower() in RESERVED else ""


class _Parser:
    """Reads a filter from left to right, one token ahead. Clauses joined alike are one, however they are bracketed."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0
        self._depth = 0

    def whole(self) -> Clause:
        if self._next.kind == "end":
            return Every()
        clause = self._either()
        if self._next.kind != "end":
            hint = "Put a text of several words in quotes." if self._next.kind == "word" else None
            self._fail('"and", "or" or the end', hint)
        return clause

    def _either(self) -> Clause:
        return self._joined("or", Either, self._every)

    def _every(self) -> Clause:
        return self._joined("and", Every, self._negated)

    def _joined(self, word: str, kind: type[Every | Either], read: Callable[[], Clause]) -> Clause:
        clauses = [read()]
        while self._took(word):
            clauses.append(read())
        parts = [part for each in clauses for part in (each.clauses if isinstance(each, kind) else (each,))]
        return kind(tuple(parts)) if len(parts) > 1 else parts[0]

    def _negated(self) -> Clause:
        if self._took("not"):
            return Not(self._deeper(self._negated))
        if not self._took("("):
            return self._condition()
        clause = self._deeper(self._either)
        self._expect(")", '"and", "or" or ")"')
        return clause

    def _deeper(self, read: Callable[[], Clause]) -> Clause:
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise FilterError(
                f"The filter is nested too deep at column {self._next.column}.",
                f"Put at most {_MOST_DEPTH} brackets and nots inside one another.",
            )
        clause = read()
        self._depth -= 1
        return clause

    def _condition(self) -> Clause:
        column, name = self._next.column, self._name()
        if self._took("not"):
            return Not(self._deeper(lambda: self._related(name, column, worded=True)))
        return self._related(name, column)

    def _related(self, name: str, column: int, *, worded: bool = False) -> Condition:
        """What follows a field's name; `worded`: after `not`, where only a word can."""
        token = self._next
        if token.keyword in _WORDED:
            self._at += 1
            relation = cast("Literal['in', 'has', 'contains', 'exists']", token.keyword)
            operands = {"in": self._listed, "exists": tuple}.get(relation, self._one)()
            return Condition(name, relation, operands, column)
        if worded:
            self._fail("in, has, contains or exists", 'Write "not" before the field, as: not source = web.')
        if token.kind == "relation":
            self._at += 1
            return Condition(name, _SAME.get(token.text, cast("Relation", token.text)), self._one(), column)
        if token.kind == "end" or token.keyword in ("and", "or") or token.text == ")":
            return Condition(name, "=", (Operand("true"),), column)
        self._fail(f'{_RELATIONS} after "{name}"')

    def _name(self) -> str:
        token = self._next
        if token.kind != "word" or token.keyword:
            self._fail("a field, such as date")
        try:
            name = field_name(token.text)
        except InputError as error:
            raise FilterError(
                f'The filter can\'t be read at column {token.column}, at "{_short(token.text)}": expected a field.',
                error.remedy,
            ) from error
        self._at += 1
        return name

    def _listed(self) -> tuple[Operand, ...]:
        self._expect("(", '"(" and values joined by commas')
        operands = list(self._one())
        while self._took(","):
            operands += self._one()
        self._expect(")", '"," or ")"')
        return tuple(operands)

    def _one(self) -> tuple[Operand]:
        token = self._next
        if token.kind == "quoted":
            self._at += 1
            text = token.text[1:-1].replace(token.text[0] * 2, token.text[0])
            plain = Operand(text)
            return (Operand(text, quoted=plain.number is not None or plain.boolean is not None),)
        if token.kind != "word" or token.keyword not in ("", "true", "false"):
            self._fail("a value", "Put a value that is a word of the language, or holds other signs, in quotes.")
        self._at += 1
        return (Operand(token.keyword or token.text),)

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _took(self, what: str) -> bool:
        """Whether this sign or word of the language came next, and was passed."""
        token = self._next
        took = token.keyword == what or (token.kind == "sign" and token.text == what)
        self._at += took
        return took

    def _expect(self, what: str, said: str) -> None:
        if not self._took(what):
            self._fail(said)

    def _fail(self, expected: str, remedy: str | None = None) -> NoReturn:
        token = self._next
        if token.kind == "end":
            raise FilterError(f"The filter ends too early, at column {token.column}: expected {expected}.", remedy)
        if token.kind == "other" and token.text in "\"'“”„":
            remedy = "A quote is opened there and not closed; inside quotes, write it twice."
        raise FilterError(
            f"The filter can't be read at column {token.column}, at {_quote_piece(token.text)}: expected {expected}.",
            remedy,
        )


def _tokens(text: str) -> Iterator[_Token]:
    for found in _TOKENS.finditer(text):
        kind = str(found.lastgroup)
        yield _Token(kind, found[kind], found.start(kind) + 1)
    yield _Token("end", "", len(text.rstrip()) + 1)


def _short(text: str) -> str:
    return f"{text[:40]}…" if len(text) > 40 else text


def _quote_piece(text: str) -> str:
    """A piece of the filter in quotes of its own, once."""
    return _short(text) if text[0] in "\"'“”„" else f'"{_short(text)}"'
