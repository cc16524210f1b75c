"""How a filter is read: its text to what it is made of, or an error that says where and what was expected there.

    filter    conditions, joined by "and", "or", "not" and brackets; "not" binds closest, then "and"
    condition FIELD | FIELD = VALUE (or != < <= > >=) | FIELD in (VALUE, …)
              | FIELD has VALUE | FIELD contains VALUE | FIELD exists
    VALUE     a word, or anything in quotes; inside them, a quote is written twice

A field alone is one that is true. `FIELD not in (…)`, `FIELD not has VALUE` and so on are `not FIELD in (…)`. The words
of the language may be written in capitals.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NoReturn, cast

from crag.core.errors import FilterError, InputError
from crag.core.filters.clauses import WORD, Clause, Condition, Either, Every, Not, Operand, Relation
from crag.core.metadata import RESERVED, field_name

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
        clauses = [self._every()]
        while self._took("or"):
            clauses.append(self._every())
        parts = [part for each in clauses for part in (each.clauses if isinstance(each, Either) else (each,))]
        return Either(tuple(parts)) if len(parts) > 1 else parts[0]

    def _every(self) -> Clause:
        clauses = [self._negated()]
        while self._took("and"):
            clauses.append(self._negated())
        parts = [part for each in clauses for part in (each.clauses if isinstance(each, Every) else (each,))]
        return Every(tuple(parts)) if len(parts) > 1 else parts[0]

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
