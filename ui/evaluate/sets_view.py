"""Question sets drawn and written: what was understood, what was wrong, a page of questions, files. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from crag.questions.expected import files_of, name_of, on_web, pages_of
from crag.questions.sets import FIELDS, UNANSWERABLE, Question, QuestionSet
from crag.questions.tables import csv_export, json_export
from ui.kit import words
from ui.kit.safe import excerpt, text

__all__ = ["bad_rows", "exported", "faults", "grid", "understood"]

_SHOWN = 8
"""Problems that the page itself names; all of them are in the export."""
_COLUMNS = tuple(FIELDS)


def understood(found: QuestionSet, in_library: Sequence[str]) -> str:
    """How the file was read, and what its labels let be measured; `in_library`: the names of its documents."""
    questions = found.questions
    counts = (
        (sum(bool(each.answers) for each in questions), "with an accepted answer"),
        (sum(bool(each.sources) for each in questions), "with a source"),
        (sum(bool(pages_of(each)) for each in questions), "with a page"),
        (sum(bool(each.topics) for each in questions), "with topics"),
        (sum(UNANSWERABLE in each.labels for each in questions), "known to have no answer"),
    )
    facts = [f"<span><b>{len(questions):,}</b> question{'' if len(questions) == 1 else 's'}</span>"]
    facts += [f"<span><b>{number:,}</b> {what}</span>" for number, what in counts if number]
    taken = " ".join(f'<span class="tag">{text(column)} → {text(field)}</span>' for field, column in found.understood)
    read = f"Read as {text(found.kind)}{': ' if taken else '.'}{taken}" if found.kind else taken
    return (
        f'<div class="cx eval-set"><div class="figures">{"".join(facts)}</div>'
        f'<p class="small">{read}</p>{_sources(questions, in_library)}</div>'
    )


def _sources(questions: Sequence[Question], in_library: Sequence[str]) -> str:
    """How many of the expected files the library holds: the others can't be retrieved from it."""
    wanted = {file for each in questions for file in files_of(each)}
    outside = len({source for each in questions for source in each.sources if on_web(source)})
    web = f" {words.count(outside, 'expected source')} on the web." if outside else ""
    if not wanted:
        return f'<p class="small">{web.strip()}</p>' if web else ""
    there = len(wanted & {name_of(name) for name in in_library})
    files = words.count(len(wanted), "expected file")
    if there == len(wanted):
        said = "The expected file is" if there == 1 else f"All {files} are"
        return f'<p class="small">{said} in the library.{web}</p>'
    return (
        f'<p class="small"><b>{there:,} of {files}</b> {"is" if there == 1 else "are"} in the library. What only the '
        f"others hold can't be retrieved from it.{web}</p>"
    )


def bad_rows(found: QuestionSet) -> str:
    """The first rows with something wrong, each with its reason; nothing where all is well."""
    if not found.problems:
        return ""
    left = sum(not problem.kept for problem in found.problems)
    kept = len(found.problems) - left
    lead = [f"{words.count(left, 'row')} left out"] if left else []
    lead += [f"{words.count(kept, 'row')} kept with a remark"] if kept else []
    items = "".join(
        f"<li><span>Row {problem.row:,}</span> <span>{text(excerpt(problem.what, 240))}"
        f"{' <b>Kept.</b>' if problem.kept else ''}</span></li>"
        for problem in found.problems[:_SHOWN]
    )
    rest = len(found.problems) - _SHOWN
    more = f'<p class="small">And {rest:,} more: all of them are in the export.</p>' if rest > 0 else ""
    return f'<div class="cx eval-bad"><p><b>{" and ".join(lead)}</b></p><ul>{items}</ul>{more}</div>'


def grid(found: QuestionSet, start: int, size: int) -> str:
    """One page of a set's questions."""
    body = "".join(
        f'<tr><td class="r">{place:,}</td><td>{text(each.question)}{_labels(each)}</td>'
        f"<td>{_several(each.answers)}</td><td>{_place(each)}</td></tr>"
        for place, each in enumerate(found.questions[start : start + size], start + 1)
    )
    return (
        '<div class="cx eval-scroll" tabindex="0" role="region" aria-label="Questions"><table class="grid eval-grid">'
        '<thead><tr><th class="r">#</th><th>Question</th><th>Accepted answers</th><th>Expected source</th></tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _labels(question: Question) -> str:
    tags = "".join(f' <span class="tag">{text(excerpt(label, 40))}</span>' for label in question.labels[:6])
    topics = f'<br><span class="small">Topics: {_several(question.topics)}</span>' if question.topics else ""
    return f"{tags}{topics}"


def _several(values: Sequence[str]) -> str:
    shown = " · ".join(text(excerpt(value, 120)) for value in values[:4])
    return f"{shown} …" if len(values) > 4 else shown or "–"


def _place(question: Question) -> str:
    pages = ", ".join(f"{page}" for page in question.pages[:8])
    places = f' <span class="keep">p. {pages}</span>' if pages else ""
    return f"{_several(question.sources)}{places}"


def exported(found: QuestionSet, ending: str) -> bytes:
    """The questions as a file that can be read again: csv or json."""
    rows = [[getattr(each, column) for column in _COLUMNS] for each in found.questions]
    return csv_export(_COLUMNS, rows) if ending == "csv" else json_export(_COLUMNS, rows)


def faults(found: QuestionSet) -> bytes:
    """Every problem as CSV."""
    return csv_export(
        ("row", "what", "kept"), [(problem.row, problem.what, problem.kept) for problem in found.problems]
    )
