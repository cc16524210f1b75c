"""Question sets drawn and written: what was understood, what was wrong, a page of questions, files. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from crag.analysis.metrics.metrics import files_of, name_of, on_web, pages_of
from crag.analysis.questions.adapters import UNANSWERABLE, csv_export
from crag.analysis.questions.sets import FIELDS, Question, QuestionSet
from ui.components import html as h
from ui.components import words
from ui.components.downloads import Table
from ui.components.html import Html
from ui.components.safe_text import excerpt

_SHOWN = 8
"""Problems that the page itself names; all of them are in the export."""
_COLUMNS = tuple(FIELDS)


def understood(found: QuestionSet, in_library: Sequence[str]) -> Html:
    """How the file was read, and what its labels let be measured; `in_library`: the names of its documents."""
    questions = found.questions
    counts = (
        (sum(bool(each.answers) for each in questions), "with an accepted answer"),
        (sum(bool(each.sources) for each in questions), "with a source"),
        (sum(bool(pages_of(each)) for each in questions), "with a page"),
        (sum(bool(each.topics) for each in questions), "with topics"),
        (sum(UNANSWERABLE in each.labels for each in questions), "known to have no answer"),
    )
    facts = [h.span[h.b[f"{len(questions):,}"], " question" if len(questions) == 1 else " questions"]]
    facts += [h.span[h.b[f"{number:,}"], " ", what] for number, what in counts if number]
    taken = h.joined(" ", (h.span("tag")[f"{column} → {field}"] for field, column in found.understood))
    lead = f"Read as {found.kind}{': ' if taken else '.'}" if found.kind else ""
    return h.div("cx eval-set")[h.div("figures")[facts], h.p("small")[lead, taken], _sources(questions, in_library)]


def _sources(questions: Sequence[Question], in_library: Sequence[str]) -> Html:
    """How many of the expected files the library holds: the others can't be retrieved from it."""
    wanted = {file for each in questions for file in files_of(each)}
    outside = len({source for each in questions for source in each.sources if on_web(source)})
    web = f" {words.count(outside, 'expected source')} on the web." if outside else ""
    if not wanted:
        return h.p("small")[web.strip()] if web else Html()
    there = len(wanted & {name_of(name) for name in in_library})
    files = words.count(len(wanted), "expected file")
    if there == len(wanted):
        said = "The expected file is" if there == 1 else f"All {files} are"
        return h.p("small")[f"{said} in the library.{web}"]
    return h.p("small")[
        h.b[f"{there:,} of {files}"],
        f" {'is' if there == 1 else 'are'} in the library. The content of the others can't be retrieved.{web}",
    ]


def bad_rows(found: QuestionSet) -> Html:
    """The first rows with something wrong, each with its reason; nothing where all is well."""
    if not found.problems:
        return Html()
    left = sum(not problem.kept for problem in found.problems)
    kept = len(found.problems) - left
    lead = [f"{words.count(left, 'row')} left out"] if left else []
    lead += [f"{words.count(kept, 'row')} kept with a note"] if kept else []
    items = [
        h.li[
            h.span[f"Row {problem.row:,}"],
            " ",
            h.span[excerpt(problem.what, 240), (" ", h.b["Kept."]) if problem.kept else ""],
        ]
        for problem in found.problems[:_SHOWN]
    ]
    rest = len(found.problems) - _SHOWN
    more = h.p("small")[f"And {rest:,} more: all of them are in the export."] if rest > 0 else ""
    return h.div("cx eval-bad")[h.p[h.b[" and ".join(lead)]], h.ul[items], more]


def listed(questions: Sequence[Question]) -> list[dict[str, object]]:
    """The questions of a set as rows of a table."""
    rows: list[dict[str, object]] = []
    for each in questions:
        pages = ", ".join(f"{page}" for page in each.pages[:8])
        rows.append(
            {
                "Question": each.question,
                "Accepted answers": _several(each.answers),
                "Expected source": f"{_several(each.sources)}{f', p. {pages}' if pages else ''}",
                "Topics": _several(each.topics),
                "Labels": ", ".join(each.labels),
            }
        )
    return rows


def _several(values: Sequence[str]) -> str:
    shown = " · ".join(excerpt(value, 120) for value in values[:4])
    return f"{shown} …" if len(values) > 4 else shown or "–"


def questions_table(found: QuestionSet) -> Table:
    """The questions for a file that can be read again."""
    return _COLUMNS, [[getattr(each, column) for column in _COLUMNS] for each in found.questions]


def faults(found: QuestionSet) -> bytes:
    """Every problem as CSV."""
    return csv_export(
        ("row", "what", "kept"), [(problem.row, problem.what, problem.kept) for problem in found.problems]
    )
