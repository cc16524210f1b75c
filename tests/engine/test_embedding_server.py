"""A library whose vectors a server makes: indexed, asked, asked while it is down, and with another model."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pydantic import SecretStr

from crag.core import events as ev
from crag.core.config import AppConfig, Keys
from crag.core.errors import ModelMismatchError
from crag.core.events import event_to_json
from crag.core.ingesting import DocumentAdded, DocumentFailed
from crag.core.trace import Trace
from crag.engine import Engine
from crag.messages.providers import describe_providers, embedding_sentence
from crag.testing.fakes import FakeClock, ScriptedEvaluator
from tests.support.model_server import KEY, Server, serving

QUESTION = "How long did hiring take in 2019?"
TEXT = b"Hiring took 98 days in 2019.\n\nThe bridge was opened in 1902."


@contextmanager
def engine(data: Path, address: str, model: str = "words") -> Iterator[Engine]:
    config = AppConfig.of(data=data, embedding="openai-compatible", embedding_base_url=address, embedding_model=model)
    keys = Keys(embedding=SecretStr(KEY))
    with Engine(config, keys, evaluator=ScriptedEvaluator(score=lambda text: 0.9), clock=FakeClock()) as made:
        yield made


def asked(engine: Engine) -> tuple[Trace, list[ev.Failed]]:
    events = list(engine.ask(QUESTION))
    assert KEY not in "".join(map(event_to_json, events))
    return Trace.from_events(events), [event for event in events if isinstance(event, ev.Failed)]


def test_vectors_come_from_the_server_and_its_calls_are_on_the_run(tmp_path: Path, server: Server) -> None:
    with engine(tmp_path, server.address) as made:
        [added] = [event for event in made.add("notes.txt", TEXT) if isinstance(event, DocumentAdded)]
        assert added.document.model == made.embedder.id
        trace, failed = asked(made)
        assert not failed and trace.answer is not None and not trace.answer.abstained
        assert [(call.step, call.model) for call in trace.calls] == [("retrieve", "words")]
        [used] = made.resolve_providers().leaving
        assert used.host == server.address.split("/")[2]
        assert used.host in embedding_sentence(made.resolve_providers())
        assert dict(made.resolve_providers().keys) == {"embedding": used.host}


def test_while_it_is_down_words_are_searched_and_indexing_says_so(tmp_path: Path, server: Server) -> None:
    with engine(tmp_path, server.address) as made:
        list(made.add("notes.txt", TEXT))
    with serving() as other:
        gone = other.address
    with engine(tmp_path, gone) as made:
        [status, *_] = describe_providers(made)
        assert status.on and gone.split("/")[2] in status.detail
        [*_, failed] = made.add("more.txt", b"Another text.")
        assert isinstance(failed, DocumentFailed) and "can't be reached" in failed.message
        assert made.library().size == (1, made.library().size[1])
    server.shutdown()
    server.server_close()
    with engine(tmp_path, server.address) as made:
        trace, [problem] = asked(made)
        assert (problem.step, problem.instead, problem.fatal) == ("retrieve", "words alone", False)
        assert "can't be reached" in problem.cause
        assert trace.answer is not None and "98 days" in trace.answer.text
        assert trace.rounds[0].chunks[0].bm25


def test_another_model_or_length_is_refused_until_all_is_embedded_again(tmp_path: Path, server: Server) -> None:
    with engine(tmp_path, server.address) as made:
        list(made.add("notes.txt", TEXT))
    with engine(tmp_path, server.address, "other") as made:
        with pytest.raises(ModelMismatchError):
            made.library().search(QUESTION, 3)
        assert made.stale()
        made.library().unembedded.forget_vectors()
        list(made.embed_missing())
        assert not made.stale() and made.library().search(QUESTION, 3)
        server.dimension = 32
        with pytest.raises(ModelMismatchError, match="64"), engine(tmp_path, server.address, "other") as again:
            again.library().search(QUESTION, 3)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"embedding": "openai", "embedding_model": "text-embedding-3-small"}, "CRAG_EMBEDDING_KEY"),
        ({"embedding": "openai-compatible", "embedding_model": "bge-m3"}, "CRAG_EMBEDDING_BASE_URL"),
        ({"embedding": "openai-compatible", "embedding_base_url": "http://127.0.0.1:9/v1"}, "CRAG_EMBEDDING_MODEL"),
    ],
)
def test_what_is_not_set_is_said_where_a_document_is_added(tmp_path: Path, settings: dict[str, str], said: str) -> None:
    made = Engine(AppConfig.of(data=tmp_path, **settings), Keys(), evaluator=ScriptedEvaluator(score=lambda text: 0.9))
    [*_, failed] = made.add("notes.txt", TEXT)
    assert isinstance(failed, DocumentFailed) and said in failed.remedy
    [status, *_] = describe_providers(made)
    assert not status.on and said in status.detail
    made.close()
