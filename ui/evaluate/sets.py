"""Question sets: adding one, what was understood of it, its questions, its files, deleting it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

import streamlit as st

from crag.analysis.evaluate import Evaluation, add_set, question_set
from crag.analysis.metrics.metrics import files_of, name_of, on_web, pages_of
from crag.analysis.questions.sets import FIELDS, MOST_BYTES, MOST_QUESTIONS, Question, QuestionSet, read_set
from crag.core.errors import CragError
from crag.export.html import words
from crag.export.html.safe_text import excerpt, markdown
from crag.storage.evaluations import StoredSet
from crag.storage.library import Library
from ui.app import clicks, guide, notices, tables
from ui.app.clicks import requires
from ui.app.program import program
from ui.app.session import REFUSALS, Session
from ui.components import downloads, forms, problems
from ui.components.downloads import Table
from ui.components.remembered import remembered
from ui.documents import uploads
from ui.evaluate.evaluation_job import Taken, state
from ui.evaluate.numbers import file_name

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
        (sum(each.unanswerable for each in questions), "known to have no answer"),
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
    """How many rows have something wrong, and each of them with its reason."""
    left = sum(not problem.kept for problem in found.problems)
    kept = len(found.problems) - left
    lead = [f"{words.count(left, 'row')} left out"] if left else []
    lead += [f"{words.count(kept, 'row')} kept with a note"] if kept else []
    rows = [
        {"Row": f"{each.row:,}", "Problem": f"{excerpt(each.what, 240)}{' Kept.' if each.kept else ''}"}
        for each in found.problems
    ]
    return " and ".join(lead), rows


def questions_table(found: QuestionSet) -> Table:
    """The questions for a file that can be read again."""
    return _COLUMNS, [[getattr(each, column) for column in _COLUMNS] for each in found.questions]


_ENDINGS = ["csv", "tsv", "txt", "jsonl", "ndjson", "json"]
_MIB = 1024 * 1024


def loaded(session: Session, id: str) -> QuestionSet:
    """A stored set, remembered: its questions never change. Raises NotFoundError, StorageError."""
    stored = next((each for each in session.library.evaluations.sets() if each.id == id), None)
    return _loaded(session.library, session.workspace, id, f"{stored.name} {stored.problems}" if stored else "")


@remembered(max_entries=8)
def _loaded(_library: Library, workspace: str, id: str, as_read: str) -> QuestionSet:
    return question_set(_library, id)


# Adding


def add(session: Session, *, first: bool) -> None:
    """A file dropped, or the sample in one click.

    `first`: nothing is stored yet.
    """
    if not session.may("edit"):
        if first:
            guide.empty(session, "No questions yet.", REFUSALS["edit"])
        return
    if first:
        said = "No questions yet. Drop a file here, or start with the sample."
        guide.empty(session, said, "What can be measured depends on the answers, sources and pages that it names.")
        _ways(session, sample="primary")
    else:
        refused = state().refused  # then another file is tried
        with st.expander("Add questions", key="eval-add", expanded=refused):
            _ways(session, sample="secondary")


def _ways(session: Session, sample: Literal["primary", "secondary"]) -> None:
    with _refused():
        _drop(session)
    help = "15 questions on the sample library: some are answered by it, some by its web pages, some by neither."
    if st.button("Load the sample questions", key="eval-sample", type=sample, help=help):
        with _refused():
            file = program().engine.sample().question_set
            _take(session, file.name, file.read_bytes())


@contextmanager
def _refused() -> Iterator[None]:
    """Says why a file can't be used, and keeps the ways to try another open."""
    with problems.reported():
        try:
            yield
        except CragError:
            state().refused = True
            raise


def _drop(session: Session) -> None:
    limit = min(MOST_BYTES // _MIB, int(st.get_option("server.maxUploadSize")))
    notices.watch_messages()
    file = st.file_uploader(
        f"Add questions: CSV, JSON Lines or JSON, up to {limit} MB and {MOST_QUESTIONS:,} questions",
        type=_ENDINGS,
        max_upload_size=limit,
        key=f"eval-drop-{state().turn}",
        help="Needs a column question; answer, source, page and labels are optional.",
    )
    if file is not None:
        state().turn += 1
        _take(session, file.name, uploads.reader(file)())


def _take(session: Session, name: str, data: bytes) -> None:
    """Store what a file holds and show it. Raises CragError, and then nothing has changed."""
    session.require("edit")
    with st.spinner(f"Reading {markdown(name)}…"):
        before = {each.id: each.name for each in session.library.evaluations.sets()}
        id = add_set(session.library, read_set(name, data))
    state().refused = False
    state().taken = Taken(id, name, before.get(id, ""))
    st.session_state["eval-set"] = id
    st.rerun()


# Choosing and showing


def choose(session: Session, stored: Sequence[StoredSet], made: Sequence[Evaluation]) -> StoredSet:
    """The set that the page is about, beside its files and its deletion. Raises CragError."""
    by_id = {each.id: each for each in stored}
    if st.session_state.get("eval-set") not in by_id:
        st.session_state["eval-set"] = stored[0].id
    with st.container(horizontal=True, vertical_alignment="bottom"):
        titles = {id: f"{each.name} ({words.count(each.questions, 'question')})" for id, each in by_id.items()}
        chosen = forms.choice("Question set", titles, "eval-set")
        _files(session, chosen)
        if session.may("edit"):
            _delete(session, by_id[chosen], sum(each.set_id == chosen for each in made))
    return by_id[chosen]


def show(session: Session, stored: StoredSet) -> None:
    """What was understood of a set, what was wrong, its questions and its files. Raises CragError."""
    taken = state().taken
    if taken is not None and taken.id == stored.id:
        st.success(markdown(_summary(taken, stored)))
    found = loaded(session, stored.id)
    in_library = [document.name for document in session.library.documents.all()]
    facts, *more = understood(found, in_library)
    with st.container(gap="small", key="eval-understood"):
        st.markdown(facts)
        for line in more:
            st.caption(line)
    if found.problems:
        _bad_rows(found)
    with st.expander("Questions", key="eval-questions"):
        columns, rows = questions_table(found)
        heads = [name.capitalize() for name in columns]
        tables.plain([dict(zip(heads, row, strict=True)) for row in rows], f"eval-questions-{stored.id}", "Questions")


def _bad_rows(found: QuestionSet) -> None:
    lead, rows = bad_rows(found)
    st.markdown(f"**{lead}**")
    tables.plain(rows, "eval-problems", "Rows with problems")


def _summary(taken: Taken, stored: StoredSet) -> str:
    count = words.count(stored.questions, "question")
    if not taken.before:
        return f"Stored: {taken.name}, {count}."
    called = "" if taken.before == taken.name else f" as {taken.before}, and is called {taken.name} now"
    return f"These {count} were already stored{called}: nothing was added."


def _files(session: Session, id: str) -> None:
    found = loaded(session, id)
    with st.popover("Export"):
        stem = file_name(found.name, "questions")
        downloads.table("Questions", lambda: questions_table(loaded(session, id)), stem, key="eval-set")


def _delete(session: Session, stored: StoredSet, made: int) -> None:
    gone = f" and its {words.count(made, 'evaluation')}" if made else ""
    counted = words.count(stored.questions, "question")
    said = f"Delete **{markdown(stored.name)}** with its {counted}{gone}? Runs stay in the history."
    clicks.confirm("Delete set", said, f"eval-delete-{stored.id}", _remove, session, stored)


@requires("edit")
def _remove(session: Session, stored: StoredSet) -> None:
    session.library.evaluations.delete_set(stored.id)
    session.note("delete", "question set", stored.name)
    state().taken = None
