"""A question asked of some documents alone: what is searched, what the record says, and documents gone since."""

from crag.core.errors import InputError
from crag.core.events import events_from_jsonl, events_to_jsonl
from crag.core.filters import Scope, narrow_filter
from crag.core.protocols import RunRequest
from crag.core.strategies import strategy
from crag.core.trace import Trace
from crag.engine import Engine
from tests.support.small_library import TEXTS, add_document

QUESTION = "How long did hiring take in 2019?"


def asked(engine: Engine, scope: Scope) -> Trace:
    settings = strategy("balanced").settings
    events = list(
        engine.ask(RunRequest(QUESTION, settings=settings.changed(where=narrow_filter(settings.where, scope))))
    )
    assert events_from_jsonl(events_to_jsonl(events)) == events
    trace = Trace.from_events(events)
    assert Trace.from_json(trace.to_json()) == trace
    return trace


def sources(trace: Trace) -> set[str]:
    return {found.chunk.source for each in trace.rounds for found in each.chunks}


def test_only_the_documents_of_the_scope_are_searched_and_the_run_says_which(engine: Engine) -> None:
    ids = [add_document(engine, f"{name}.pdf", TEXTS) for name in ("one", "two", "three")]
    engine.library().documents.describe(ids[2], {"tags": ("survey",)})
    trace = asked(engine, Scope((ids[1],), ("survey",)))
    assert sources(trace) == {"two.pdf", "three.pdf"}
    assert trace.scope is not None
    assert (trace.scope.documents, trace.scope.tags, trace.scope.gone) == (("two.pdf",), ("survey",), 0)
    assert asked(engine, Scope()).scope is None


def test_documents_deleted_since_are_told(engine: Engine) -> None:
    ids = [add_document(engine, f"{name}.pdf", TEXTS) for name in ("one", "two", "three")]
    engine.library().documents.delete(ids[0])
    some = asked(engine, Scope((ids[0], ids[1])))
    assert sources(some) == {"two.pdf"} and some.scope is not None and some.scope.gone == 1
    none = asked(engine, Scope((ids[0],)))
    assert none.failure is not None and "any more" in none.failure.cause and "ask all" in none.failure.remedy
    assert none.scope is not None and none.scope.gone == 1


def test_a_field_called_id_that_an_earlier_build_let_be_given_is_left_out(engine: Engine, monkeypatch) -> None:
    id = add_document(engine, "one.pdf", TEXTS)
    with monkeypatch.context() as earlier:
        earlier.setattr("crag.core.metadata._OF_THE_FILE", ())
        engine.library().documents.describe(id, {"id": "mine", "tags": ("old",)})
    assert engine.library().documents.fields(id)["id"] == id
    assert sources(asked(engine, Scope((id,)))) == {"one.pdf"}
    assert engine.library().documents.describe(id, {"tags": None})["id"] == id
    try:
        engine.library().documents.describe(id, {"id": "mine"})
    except InputError as error:
        assert "comes with the file" in error.message
    else:
        raise AssertionError("an id was set")
