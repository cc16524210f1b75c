"""Question sets drawn and written: what was understood, what was wrong, a page of questions, files. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from crag.analysis.metrics.metrics import files_of, name_of, on_web, pages_of
from crag.analysis.questions.adapters import UNANSWERABLE, csv_export
from crag.analysis.questions.sets import FIELDS, Question, QuestionSet
from crag.export.html import words
from crag.export.html.safe_text import excerpt, markdown
from ui.components.downloads import Table

SHOWN = 8
"""Problems that the page itself names; all of them are in the export."""
_COLUMNS = tuple(FIELDS)


def understood(found: QuestionSet, in_library: Sequence[str]) -> list[str]:
    """How the file was read, and what its labels let be measured, in lines of Markdown.

    `in_library`: the names of its documents.
    """
    questions = found.questions
    counts = (
        (len(questions), "question" if len(questions) == 1 else "questions"),
        (sum(bool(each.answers) for each in questions), "with an accepted answer"),
        (sum(bool(each.sources) for each in questions), "with a source"),
        (sum(bool(pages_of(each)) for each in questions), "with a page"),
        (sum(bool(each.topics) for each in questions), "with topics"),
        (sum(UNANSWERABLE in each.labels for each in questions), "known to have no answer"),
    )
    facts = " · ".join(f"**{number:,}** {what}" for number, what in counts if number)
    taken = " ".join(f":gray-badge[{markdown(f'{column} → {field}')}]" for field, column in found.understood)
    lead = f"Read as {found.kind}{f': {taken}' if taken else '.'}" if found.kind else taken
    return [line for line in (facts, lead, _sources(questions, in_library)) if line]


def _sources(questions: Sequence[Question], in_library: Sequence[str]) -> str:
    """How many of the expected files the library holds: the others can't be retrieved from it."""
    wanted = {file for each in questions for file in files_of(each)}
    outside = len({source for each in questions for source in each.sources if on_web(source)})
    web = f" {words.count(outside, 'expected source')} on the web." if outside else ""
    if not wanted:
        return web.strip()
    there = len(wanted & {name_of(name) for name in in_library})
    files = words.count(len(wanted), "expected file")
    if there == len(wanted):
        return f"{'The expected file is' if there == 1 else f'All {files} are'} in the library.{web}"
    said = f"**{there:,} of {files}** {'is' if there == 1 else 'are'} in the library."
    return f"{said} The content of the others can't be retrieved.{web}"


def bad_rows(found: QuestionSet) -> tuple[str, list[dict[str, str]]]:
    """How many rows have something wrong, and the first of them, each with its reason."""
    left = sum(not problem.kept for problem in found.problems)
    kept = len(found.problems) - left
    lead = [f"{words.count(left, 'row')} left out"] if left else []
    lead += [f"{words.count(kept, 'row')} kept with a note"] if kept else []
    rows = [
        {
            "Row": f"Row {each.row:,}",
            "Problem": f"{markdown(excerpt(each.what, 240))}{' **Kept.**' if each.kept else ''}",
        }
        for each in found.problems[:SHOWN]
    ]
    return " and ".join(lead), rows


def questions_table(found: QuestionSet) -> Table:
    """The questions for a file that can be read again."""
    return _COLUMNS, [[getattr(each, column) for column in _COLUMNS] for each in found.questions]


def faults(found: QuestionSet) -> bytes:
    """Every problem as CSV."""
    return csv_export(
        ("row", "what", "kept"), [(problem.row, problem.what, problem.kept) for problem in found.problems]
    )
