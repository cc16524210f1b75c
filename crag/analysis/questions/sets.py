"""Question sets: CSV, JSON Lines or JSON read into questions, each bad row named and the good ones kept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar

from crag.analysis.questions.adapters import (
    MOST_COLUMNS,
    PUBLISHED,
    UNANSWERABLE,
    adapt_record,
    blank,
    column_key,
    csv_records,
    records_of,
    squad_records,
    text_of,
    unguard_formula,
)
from crag.analysis.questions.matching import (
    DOCUMENT_BYTES,
    LONG_SHARE,
    MOST_WORDS,
    VALUE_CHARS,
    OverfullError,
    comparison,
    json_in,
    json_lines,
    pages_in,
    texts_in,
)
from crag.core.errors import InputError

MOST_QUESTIONS = 100_000
"""Rows of one set."""
MOST_BYTES = 64 * 1024 * 1024
QUESTION_CHARS = 2_000
"""As long as a question may be that is asked."""
ID_CHARS = 200
SET_VALUES = 2_000_000
"""Answers, sources, pages, topics and labels of a whole set: 20 for each of the most questions."""
SET_CHARS = MOST_BYTES
"""Of all texts of a set: no more than a file holds, though a title may be the source of every question below it."""
COLUMN_CHARS = 100
"""A longer name of a column is not looked at."""
MOST_NAMES = 50
"""Of columns that are remembered to say how a file was read."""

FIELDS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "question_id", "qid", "query_id"),
    "question": ("question", "query", "prompt", "user_input", "input"),
    "answers": (
        *("answers", "answer", "expected_answer", "expected_answers", "accepted_answers", "reference_answer"),
        *("reference", "ground_truth", "gold_answer", "expected"),
    ),
    "sources": (
        *("sources", "source", "expected_source", "expected_sources", "document", "documents", "doc", "file"),
        *("files", "file_name", "filename", "source_file", "doc_name", "doc_id", "title"),
    ),
    "pages": ("pages", "page", "expected_page", "expected_pages", "page_number", "page_numbers", "evidence_pages"),
    "topics": ("topics", "topic", "key_topics", "expected_topics", "keywords"),
    "labels": ("labels", "label", "tags", "tag"),
}
"""Columns by field, in the order in which the first that a row fills is taken."""

_FIELD_OF = {column: (field, rank) for field, columns in FIELDS.items() for rank, column in enumerate(columns)}
_BROKEN = re.compile("[\x00\ud800-\udfff]")
"""What no text holds: NUL, and bytes or halves of characters that could not be decoded."""
_SHORTER = "Add a short one too, such as a name or an amount"
_BINARY: Mapping[bytes, tuple[str, str]] = {
    b"PK\x03\x04": ("a spreadsheet or an archive", "Save it as CSV (UTF-8)."),
    b"\xd0\xcf\x11\xe0": ("an old spreadsheet", "Save it as CSV (UTF-8)."),
    b"%PDF": ("a PDF", "Documents are added on the Documents page; a question set is CSV or JSON Lines."),
    b"\x1f\x8b": ("compressed", "Unpack it first."),
}
"""How files begin that are often taken for a question set: what each is, and what to do."""
_START = (
    "Name a column of the first row question (in JSON Lines: a key of each line); answer, source and page may follow."
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question and what is expected: any of `answers`, from any of `sources` on any of `pages`.

    Sources are names of files, or addresses on the web (see `expected.on_web`). Pages count from 1. With one source
    all pages are its; as many sources as pages belong together in order; else the source of a page is unknown.
    `topics` are what a full answer speaks of. All but `id` and `question` may be empty, which means not known; a
    question known to have no answer carries the label "unanswerable".
    """

    id: str
    question: str
    answers: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    pages: tuple[int, ...] = ()
    topics: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a row, in words; `kept` where the question is in the set all the same.

    Rows count as a spreadsheet shows them (the header is row 1), by line in JSON Lines, from 1 in other JSON.
    """

    row: int
    what: str
    kept: bool = False

    def __str__(self) -> str:
        return f"Row {self.row}: {self.what}."


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions in the file's order, with ids that differ; `kind` and `understood` say how the file was read.

    `understood` pairs a field of Question with the column that was taken for it.
    """

    name: str
    questions: tuple[Question, ...]
    problems: tuple[Problem, ...] = ()
    kind: str = ""
    understood: tuple[tuple[str, str], ...] = ()


Value = TypeVar("Value", str, int)
Row = tuple[int, Mapping[str, Any] | str]
"""A row's number and what it holds, or why it can't be read."""


def read_set(name: str, data: bytes) -> QuestionSet:
    """The questions of a file, by its content: `name` is only a name.

    A bad row is named and left out. The second of two equal ids is kept under a new one, and named too. Raises
    InputError for a file that is empty, too large, no text, or without a question column.
    """
    if len(data) > MOST_BYTES:
        raise InputError(f"{name} has over {MOST_BYTES // 1024**2} MiB.", "Split it, or leave out long columns.")
    for start, (what, remedy) in _BINARY.items():
        if data.startswith(start):
            raise InputError(f"{name} is no question set: it is {what}.", remedy)
    text = text_of(data)
    first = re.search("[^\\s\x00\ufeff]", text)
    if first is None:
        raise InputError(f"{name} is empty.", _START)
    if first.group() not in "[{":
        return _Reading(name, "CSV").read(_from_csv(name, text))
    return _from_json(name, text)


def _from_json(name: str, text: str) -> QuestionSet:
    try:
        document = json_in(text, DOCUMENT_BYTES)
    except ValueError as error:
        if isinstance(error, OverfullError) and next(json_lines(text, name))[2]:
            raise InputError(f"{name} holds too many values.", "Split it, or leave out what is no question.") from error
        lines = ((number, reason or _record(value)) for number, value, reason in json_lines(text, name))
        return _Reading(name, "JSON Lines").read(lines)
    nested = squad_records(document)
    if nested is not None:
        return _Reading(name, "SQuAD").read(enumerate(nested, start=1))
    return _Reading(name, "JSON").read(enumerate(map(_record, records_of(document)), start=1))


def _record(value: object) -> Mapping[str, Any] | str:
    return value if isinstance(value, Mapping) else "it is no JSON object"


def _from_csv(name: str, text: str) -> Iterator[Row]:
    """The rows below the header. Raises InputError where the header can't be read, or nothing is below it."""
    records = csv_records(text, _FIELD_OF, name)
    _, header = next(records, (0, []))
    if isinstance(header, str):
        raise InputError(f"The first row of {name} can't be read: {header}.", _START)
    if len(header) > MOST_COLUMNS:
        raise InputError(f"The first row of {name} has {len(header):,} columns, more than {MOST_COLUMNS:,}.", _START)
    columns = [column.strip() for column in header]
    if not any(_field(column)[0] == "question" for column in columns):
        raise _asks_nothing(name, f"the first row names {len(set(columns) - {''})}")
    used = [(place, column) for place, column in enumerate(columns) if _field(column)[0] or column in PUBLISHED]
    ours = header == list(FIELDS)
    for number, cells in records:
        if isinstance(cells, str):
            yield number, cells
        elif not blank(cells[len(columns) :]):
            yield number, f"it has {len(cells)} cells for {len(columns)} columns (quote a cell that holds a delimiter)"
        else:
            given = ((column, cells[place]) for place, column in used if place < len(cells))
            yield number, {column: unguard_formula(cell) if ours else cell for column, cell in given}


def _asks_nothing(name: str, found: str) -> InputError:
    """What a file without a question column is refused with; how many columns it has, but nothing out of it."""
    *names, last = FIELDS["question"]
    return InputError(f"{name} has no question column: {found}, and none is {', '.join(names)} or {last}.", _START)


def _field(column: str) -> tuple[str, int]:
    """The field that a column stands for, and how far back it stands in its list; "" for a column that is not used."""
    return _match_column(column) if len(column) <= COLUMN_CHARS else ("", 0)


@lru_cache(maxsize=1024)
def _match_column(column: str) -> tuple[str, int]:
    return _FIELD_OF.get(column_key(column), ("", 0))


class _Reading:
    """One file being read: what is good so far, what is not, and what the columns were taken for."""

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self.kind = kind
        self.kinds: dict[str, None] = {}
        self.columns: set[str] = set()
        self.asks = False
        self.understood: dict[tuple[str, str], None] = {}
        self.questions: list[tuple[int, Question]] = []
        self.problems: list[Problem] = []
        self.values = self.chars = 0

    def read(self, rows: Iterable[Row]) -> QuestionSet:
        """The whole set. Raises InputError for too many rows or values, for none, and where no row has a question."""
        count = 0
        for count, (number, held) in enumerate(rows, start=1):
            if count > MOST_QUESTIONS:
                raise InputError(f"{self.name} has over {MOST_QUESTIONS:,} rows.", "Split it into several sets.")
            try:
                question = self._question(held)
            except ValueError as error:
                self.problems.append(Problem(number, str(error)))
                continue
            self.questions.append((number, question))
            if said := _of_answers(question):
                self.problems.append(Problem(number, said, kept=True))
        if not count:
            raise InputError(f"{self.name} holds no questions below its header.", _START)
        if not self.questions and self.columns and not self.asks:
            raise _asks_nothing(self.name, f"its rows name {len(self.columns)}")
        if not self.questions and self.kind != "CSV" and not self.columns:
            raise InputError(f"No row of {self.name} can be read. {self.problems[0]}", _START)
        questions = tuple(self._with_own_ids())
        kind = " and ".join(self.kinds) or self.kind
        problems = tuple(sorted(self.problems, key=lambda problem: problem.row))
        return QuestionSet(self.name, questions, problems, kind, tuple(self.understood))

    def _question(self, held: Mapping[str, Any] | str) -> Question:
        """A row as a question without a checked id. Raises ValueError with what is wrong in words."""
        if isinstance(held, str):
            raise ValueError(held)
        kind, record = adapt_record(held)
        if kind:
            self.kinds[kind] = None
        taken = self._taken(record, seen=not kind and self.kind != "SQuAD")
        asked = self._one(taken, "question", QUESTION_CHARS)
        if not asked:
            raise ValueError("it has no question")
        bars = self.kind == "CSV"
        answers, topics, labels = (_once(self._many(taken, field, bars)) for field in ("answers", "topics", "labels"))
        sources, pages = self._many(taken, "sources", bars), self._pages(taken)
        if len(sources) != len(pages):
            sources, pages = _once(sources), _once(pages)
        return Question(self._one(taken, "id", ID_CHARS), asked, answers, sources, pages, topics, labels)

    def _taken(self, record: Mapping[str, Any], seen: bool) -> dict[str, Any]:
        """By field, the value of the first of its columns that holds anything."""
        best: dict[str, tuple[int, str]] = {}
        for column, value in record.items():
            field, rank = _field(column)
            self.asks = self.asks or (seen and field == "question")
            if seen and len(self.columns) < MOST_COLUMNS:
                self.columns.add(column)
            empty = value in (None, [], "") or (isinstance(value, str) and value.isspace())
            if field and not empty and rank <= best.get(field, (rank, ""))[0]:
                best[field] = (rank, column)
        if seen and len(self.understood) < MOST_NAMES:
            self.understood.update(dict.fromkeys((field, column) for field, (_, column) in best.items()))
        return {field: record[column] for field, (_, column) in best.items()}

    def _one(self, taken: Mapping[str, Any], field: str, limit: int) -> str:
        """A field that holds one text of at most `limit` characters; "" where it is missing."""
        value = taken.get(field, "")
        if not isinstance(value, (str, int, float)) or isinstance(value, bool):
            raise ValueError(f"its {field} is no text")
        return self._checked(str(value).strip(), field, limit)

    def _many(self, taken: Mapping[str, Any], field: str, bars: bool) -> tuple[str, ...]:
        try:
            texts = texts_in(taken.get(field), bars)
        except ValueError as error:
            raise ValueError(f"{field}: {error}") from error
        self._spend(len(texts), 0)
        return tuple(self._checked(text, field, VALUE_CHARS) for text in texts)

    def _pages(self, taken: Mapping[str, Any]) -> tuple[int, ...]:
        try:
            pages = pages_in(taken.get("pages"))
        except ValueError as error:
            raise ValueError(f"pages: {error}") from error
        self._spend(len(pages), 0)
        return pages

    def _checked(self, text: str, field: str, limit: int) -> str:
        if len(text) > limit:
            raise ValueError(f"its {field} has {len(text):,} characters, more than {limit:,}")
        self._spend(0, len(text))
        if _BROKEN.search(text):
            raise ValueError(f"its {field} holds bytes that are no text: save the file as UTF-8")
        return text

    def _spend(self, values: int, chars: int) -> None:
        """Count what a row takes, whether or not it is good. Raises InputError where the set takes too much."""
        self.values += values
        self.chars += chars
        if self.values > SET_VALUES or self.chars > SET_CHARS:
            raise InputError(
                f"{self.name} holds too much: over {SET_VALUES:,} answers, sources, pages, topics and labels, "
                f"or over {SET_CHARS:,} characters in them.",
                "Split it into several sets.",
            )

    def _with_own_ids(self) -> Iterator[Question]:
        """The questions, each with an id of its own; the second of two equal ids gets a new one and is named."""
        given = {question.id for _, question in self.questions}
        used: set[str] = set()
        copies: dict[str, int] = {}
        for number, question in self.questions:
            start = fresh = question.id or f"row-{number}"
            while fresh in used or (fresh != question.id and fresh in given):
                copies[start] = copies.get(start, 1) + 1
                fresh = f"{start}-{copies[start]}"
            used.add(fresh)
            if question.id and fresh != question.id:
                self.problems.append(
                    Problem(number, f"its id is used above, so it ends in -{copies[start]} here", True)
                )
            yield question if fresh == question.id else replace(question, id=fresh)


def _of_answers(question: Question) -> str:
    """What a person should know where no short answer is expected, which alone is compared for sure; else nothing."""
    how = {comparison(answer) for answer in question.answers} if UNANSWERABLE not in question.labels else set()
    if not how or "in order" in how:
        return ""
    if how == {"none"}:
        return (
            f"its expected answer can't be compared with an answer (it has over {MOST_WORDS} words that count, or "
            f"none): what is answered to it is not scored. {_SHORTER}"
        )
    most = "all its words and numbers" if "long" not in how else f"its numbers and {LONG_SHARE:.0%} of its words"
    return f"its expected answer is a whole sentence: it counts as said where an answer holds {most}. {_SHORTER}"


def _once(values: Iterable[Value]) -> tuple[Value, ...]:
    return tuple(dict.fromkeys(values))
