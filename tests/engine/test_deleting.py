"""What is deleted is gone: a word of a document or a question is in no table, file, backup or live object."""

import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from crag.admin.backups import create_backup
from crag.analysis.evaluate import add_set, evaluate
from crag.analysis.questions.sets import Question, QuestionSet
from crag.core.config import AppConfig
from crag.core.protocols import RunRequest
from crag.core.purging import conditions_of
from crag.core.types import Grade, Passage
from crag.engine import Engine
from crag.storage.library import Library
from crag.text import memory
from tests.support.looking import in_files, in_objects, in_tables
from tests.support.small_library import TEXTS, WordEmbedder, add_document


class Quoting:
    """An evaluator that says why in words of the question and of the text, as a chat model does."""

    id, calls_models = "quoting", False

    def grade(self, question: str, passages: Sequence[Passage]) -> Iterator[Grade]:
        for each in passages:
            yield Grade(passage_id=each.id, score=0.9, reason=f"{question} – {each.text}", evaluator=self.id)

    def grade_joint(self, question: str, passages: Sequence[Passage]) -> Grade:
        return Grade(passage_id="joint", score=0.9, reason=question, evaluator=self.id)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(AppConfig.of(data=tmp_path), embedder=WordEmbedder(), evaluator=Quoting()) as made:
        yield made


def word() -> list[str]:
    """An unusual word, letter by letter, so that looking for it does not find this."""
    return [chr(ord("a") + int(digit, 16)) for digit in secrets.token_hex(8)]


def planted(engine: Engine, said: list[str], asked: list[str]) -> tuple[str, str]:
    """Ids of a document that says the first word, beside another one, and of a run that asks for the second."""
    add_document(engine, "other.pdf", TEXTS)
    id = add_document(engine, "report.pdf", [f"The {''.join(said)} agency hired four hundred people in 2019.", *TEXTS])
    request = RunRequest(f"How many people did the {''.join(said)} agency of {''.join(asked)} hire in 2019?")
    run = engine.trace(request).run_id
    engine.trace(request)
    return id, run


def delete_runs(library: Library) -> None:
    for run in library.runs.ids():
        library.runs.delete(run)


def delete_evaluated(library: Library) -> None:
    for each in library.evaluations.all():
        library.evaluations.delete(each.id, runs=True)
    for found in library.evaluations.sets():
        library.evaluations.delete_set(found.id)
    delete_runs(library)


def take_out(library: Library, id: str) -> None:
    """A purge, and the end of the day in which it can be undone."""
    library.documents.describe(id, {"old": True})
    library.purges.purge(conditions_of("--where 'old = true'"))
    library.purges.expire(datetime.now(UTC) + timedelta(days=2))


def nowhere(engine: Engine, letters: list[str], *, backup: Path) -> None:
    """It stands in no table, in no object, not in the log, and once the library was closed in no file nor a backup."""
    library, data = engine.library(), engine.config.storage.data
    library.refresh_index()
    assert in_tables("".join(letters), library) == []
    assert in_objects("".join(letters)) == []
    assert [name for name in in_files("".join(letters), library.folder) if name.startswith("library.db")] == []
    engine.close()
    create_backup(data, backup)
    assert in_files("".join(letters), data) == [] == in_files("".join(letters), backup.parent)


@pytest.mark.parametrize("delete", [delete_runs, delete_evaluated])
def test_a_question_is_nowhere_once_its_runs_are_deleted(
    engine: Engine, tmp_path_factory: pytest.TempPathFactory, delete: Callable[[Library], None]
) -> None:
    asked = word()
    planted(engine, word(), asked)
    if delete is delete_evaluated:
        text = f"Who asks of {''.join(asked)}?"
        set_id = add_set(engine.library(), QuestionSet(name="set", questions=(Question(id="1", question=text),)))
        list(evaluate(engine, set_id, RunRequest("", "balanced")))
        del text
    held = ["runs", "facts", "reasons"] if delete is delete_runs else ["question_sets", "results", "runs", "reasons"]
    assert {*held} - {"facts"} <= {*in_tables("".join(asked), engine.library())}, "else nothing would be shown"
    delete(engine.library())
    nowhere(engine, asked, backup=tmp_path_factory.mktemp("backup") / "a.zip")


@pytest.mark.parametrize("delete", [lambda library, id: library.documents.delete(id), take_out])
def test_a_document_is_nowhere_once_it_and_its_runs_are_deleted(
    engine: Engine, tmp_path_factory: pytest.TempPathFactory, delete: Callable[[Library, str], None]
) -> None:
    said = word()
    id, _ = planted(engine, said, word())
    assert {"chunks", "documents", "runs", "reasons"} <= {*in_tables("".join(said), engine.library())}
    delete_runs(engine.library())
    delete(engine.library(), id)
    engine.trace("How many people were hired?")
    nowhere(engine, said, backup=tmp_path_factory.mktemp("backup") / "a.zip")


def test_a_deletion_leaves_grades_in_force_without_their_reasons(engine: Engine) -> None:
    _, run = planted(engine, word(), word())
    question = "How many people were hired?"
    first = engine.trace(question)
    engine.library().runs.delete(run)
    again = engine.trace(question)
    grades = [[each.grades[id] for each in trace.rounds for id in each.grades] for trace in (first, again)]
    assert [each.score for each in grades[0]] == [each.score for each in grades[1]] and grades[0]
    assert all(each.cached and not each.reason for each in grades[1]) and all(each.reason for each in grades[0])


def test_a_library_is_nowhere_once_it_is_removed(engine: Engine) -> None:
    said = word()
    planted(engine, said, said)
    engine.remove("default")
    assert in_objects("".join(said)) == [] == in_files("".join(said), engine.config.storage.data)


def test_what_holds_texts_is_told_of_each_deletion_and_let_go_with_its_object(engine: Engine) -> None:
    class Holder:
        def __init__(self) -> None:
            self.told: list[list[str]] = []

        def forget(self, gone: Sequence[str]) -> None:
            self.told.append(list(gone))

    id, run = planted(engine, word(), word())
    holder = Holder()
    memory.on_deletion(holder.forget)
    before = len(memory._holders)
    engine.library().runs.delete(run)
    take_out(engine.library(), id)
    engine.tidy(threading.Event())
    engine.remove("default")
    assert holder.told == [[run], [id], ["default"]]
    del holder
    memory.on_deletion(Holder().forget)
    assert len(memory._holders) == before, "one of the last two is left"
