"""Question sets: CSV, JSON Lines or JSON read into questions, each bad row named and the good ones kept."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from crag.analysis.questions.matching import LONG_SHARE, MOST_WORDS, comparison
from crag.analysis.questions.values import VALUE_CHARS, json_in, json_lines, pages_in, texts_in
from crag.core.errors import InputError
from crag.text.encodings import guess_text
from crag.text.formats import join_names
from crag.text.spreadsheets import unguard_formula

MOST_QUESTIONS = 100_000
"""Rows of one set."""
MOST_BYTES = 10 * 1024 * 1024
"""Of a file. Python makes at most some fifty times as much of one, whatever it holds ("[[[[]]]],…"): half a GB."""
MOST_COLUMNS = 1_000
QUESTION_CHARS = 2_000
"""As long as a question may be that is asked."""
ID_CHARS = 200
SET_VALUES = 2_000_000
"""Answers, sources, pages and labels of a whole set: 20 for each of the most questions."""
MOST_NAMES = 50
"""Of columns that are remembered to say how a file was read."""
UNANSWERABLE = "unanswerable"
"""The label of a question to which the expected source gives no answer."""

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
    "labels": ("labels", "label", "tags", "tag"),
}
"""Columns by field: of several, the first that a row fills is taken."""


_BROKEN = re.compile("[\x00\ud800-\udfff\ufffd]")
"""What no text holds: NUL, halves of characters, and the sign for bytes that could not be decoded."""
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
    All but `id` and `question` may be empty, which means not known; a
    question known to have no answer carries the label "unanswerable".
    """

    id: str
    question: str
    answers: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    pages: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def unanswerable(self) -> bool:
        """Whether it is known that the expected source gives no answer."""
        return UNANSWERABLE in self.labels


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a row, in words; `kept` where the question is in the set all the same.

    Rows count from the header, which is row 1, in a table; by line in JSON Lines; from 1 in other JSON.
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
"""A row's number and what it holds by column, or why it can't be read."""


def read_set(name: str, data: bytes) -> QuestionSet:
    """The questions of a file, by its content: `name` is only a name.

    A bad row is named and left out. The second of two equal ids is kept under a new one, and named too. Raises
    InputError for a file that is empty, too large, no text, or without a question, and for a table that is broken.
    """
    if len(data) > MOST_BYTES:
        raise InputError(f"{name} has over {MOST_BYTES // 1024**2} MiB.", "Split it, or leave out long columns.")
    for start, (what, remedy) in _BINARY.items():
        if data.startswith(start):
            raise InputError(f"{name} is no question set: it is {what}.", remedy)
    text, _ = guess_text(data)
    first = re.search("[^\\s\x00\ufeff]", text)
    if first is None:
        raise InputError(f"{name} is empty.", _START)
    kind, rows = ("CSV", _csv_rows(name, text)) if first.group() not in "[{" else _json_rows(text)
    return _read(name, kind, rows)


def _json_rows(text: str) -> tuple[str, Iterator[Row]]:
    """One document with a list of questions, or one question a line."""
    try:
        document = json_in(text)
    except ValueError:
        return "JSON Lines", ((number, reason or _record(value)) for number, value, reason in json_lines(text))
    if isinstance(document, Mapping):
        document = document.get("questions", document)
    listed = document if isinstance(document, list) else [document]
    return "JSON", enumerate(map(_record, listed), start=1)


def _record(value: object) -> Mapping[str, Any] | str:
    return value if isinstance(value, Mapping) else "it is no JSON object"


def _csv_rows(name: str, text: str) -> Iterator[Row]:
    """The rows below the header. Raises InputError for a header without a question, and for a row that is broken."""
    csv.field_size_limit(MOST_BYTES)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    columns: list[str] = []
    ours = False
    try:
        for number, cells in enumerate(reader, start=1):
            if not "".join(cells).strip():
                continue
            if not columns:
                columns, ours = _checked_header(name, cells), cells == list(FIELDS)
            elif "".join(cells[len(columns) :]).strip():
                yield (
                    number,
                    f"it has {len(cells)} cells for {len(columns)} columns (quote a cell that holds a delimiter)",
                )
            else:
                yield number, dict(zip(columns, map(unguard_formula, cells) if ours else cells, strict=False))
    except csv.Error as error:
        raise InputError(
            f"{name} can't be read as a table up to line {reader.line_num:,}: its quotation marks do not match.",
            "Save it again as CSV (UTF-8) from a spreadsheet program.",
        ) from error


def _checked_header(name: str, columns: list[str]) -> list[str]:
    if len(columns) > MOST_COLUMNS:
        raise InputError(f"{name} has {len(columns):,} columns, more than {MOST_COLUMNS:,}.", _START)
    if not {_key(column) for column in columns} & set(FIELDS["question"]):
        wanted = join_names(FIELDS["question"], "or")
        raise InputError(f"{name} has no question column: none of {len(columns):,} is {wanted}.", _START)
    return columns


def _delimiter(text: str) -> str:
    """As the header has it. A header of one column has none."""
    header = next(filter(str.strip, io.StringIO(text, newline="")))
    try:
        return csv.Sniffer().sniff(header[:2_000], ",;\t").delimiter
    except csv.Error:
        return ","


def _key(column: str) -> str:
    """The name of a column however it is written: "Expected Answer" and "expected-answer" are expected_answer."""
    return re.sub(r"[\s-]+", "_", column[:100].strip().lower())


def _read(name: str, kind: str, rows: Iterable[Row]) -> QuestionSet:
    """The whole set. Raises InputError for too many rows or values, and where no row is a question."""
    questions: list[tuple[int, Question]] = []
    problems: list[Problem] = []
    understood: dict[tuple[str, str], None] = {}
    count = values = 0
    for count, (number, held) in enumerate(rows, start=1):
        if count > MOST_QUESTIONS:
            raise InputError(f"{name} has over {MOST_QUESTIONS:,} rows.", "Split it into several sets.")
        try:
            if isinstance(held, str):
                raise ValueError(held)
            taken = _taken(held)
            question = _question(taken, bars=kind == "CSV")
        except ValueError as error:
            problems.append(Problem(number, str(error)))
            continue
        questions.append((number, question))
        if said := _of_answers(question):
            problems.append(Problem(number, said, kept=True))
        if len(understood) < MOST_NAMES:
            understood.update(dict.fromkeys((field, column) for field, (column, _) in taken.items()))
        lists = question.answers, question.sources, question.pages, question.labels
        values += sum(map(len, lists))
        if values > SET_VALUES:
            raise InputError(
                f"{name} holds too much: over {SET_VALUES:,} answers, sources, pages and labels.",
                "Split it into several sets.",
            )
    if not count:
        raise InputError(f"{name} holds no questions below its header.", _START)
    if not questions:
        raise InputError(f"No row of {name} can be read. {problems[0]}", _START)
    told_apart, renamed = _with_own_ids(questions)
    problems = sorted([*problems, *renamed], key=lambda problem: problem.row)
    return QuestionSet(name, told_apart, tuple(problems), kind, tuple(understood))


def _taken(record: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    """By field, the first of its columns that holds anything, and what. Raises ValueError for too many columns."""
    if len(record) > MOST_COLUMNS:
        raise ValueError(f"it has over {MOST_COLUMNS:,} columns")
    filled = {_key(column): column for column, value in record.items() if value not in (None, [], "", " ")}
    found = {}
    for field, names in FIELDS.items():
        column = next((filled[each] for each in names if each in filled), None)
        if column is not None:
            found[field] = column, record[column]
    return found


def _question(taken: Mapping[str, tuple[str, Any]], *, bars: bool) -> Question:
    """A row as a question without a checked id. Raises ValueError with what is wrong in words."""

    def one(field: str, limit: int) -> str:
        _, value = taken.get(field, ("", ""))
        if not isinstance(value, (str, int, float)) or isinstance(value, bool):
            raise ValueError(f"its {field} is no text")
        return _checked(str(value).strip(), field, limit)

    def many(field: str) -> tuple[str, ...]:
        _, value = taken.get(field, ("", None))
        try:
            return tuple(_checked(text, field, VALUE_CHARS) for text in texts_in(value, bars))
        except ValueError as error:
            raise ValueError(f"{field}: {error}") from error

    id, asked = one("id", ID_CHARS), one("question", QUESTION_CHARS)
    if not asked:
        raise ValueError("it has no question")
    sources, (_, pages_given) = many("sources"), taken.get("pages", ("", None))
    answers, labels = (_once(many(field)) for field in ("answers", "labels"))
    try:
        pages = pages_in(pages_given)
    except ValueError as error:
        raise ValueError(f"pages: {error}") from error
    if len(sources) != len(pages):
        sources, pages = _once(sources), _once(pages)
    return Question(id, asked, answers, sources, pages, labels)


def _checked(text: str, field: str, limit: int) -> str:
    if len(text) > limit:
        raise ValueError(f"its {field} has {len(text):,} characters, more than {limit:,}")
    if _BROKEN.search(text):
        raise ValueError(f"its {field} holds bytes that are no text: save the file as UTF-8")
    return text


def _with_own_ids(found: Iterable[tuple[int, Question]]) -> tuple[tuple[Question, ...], list[Problem]]:
    """The questions, each with an id of its own; the second of two equal ids gets a new one and is named."""
    found = list(found)
    given = {question.id for _, question in found}
    used: set[str] = set()
    copies: dict[str, int] = {}
    questions, problems = [], []
    for number, question in found:
        start = fresh = question.id or f"row-{number}"
        while fresh in used or (fresh != question.id and fresh in given):
            copies[start] = copies.get(start, 1) + 1
            fresh = f"{start}-{copies[start]}"
        used.add(fresh)
        if question.id and fresh != question.id:
            problems.append(Problem(number, f"its id is used above, so it ends in -{copies[start]} here", True))
        questions.append(replace(question, id=fresh))
    return tuple(questions), problems


def _of_answers(question: Question) -> str:
    """What a person should know where no short answer is expected, which alone is compared for sure; else nothing."""
    how = {comparison(answer) for answer in question.answers} if not question.unanswerable else set()
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
