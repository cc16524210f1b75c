"""The warm-up loads what a first run needs, and is no one's failure."""

import logging
import threading

import numpy as np
import pytest

from crag.core.config import AppConfig
from crag.core.errors import ModelError
from crag.engine import Engine
from ui.app import warmup
from ui.app.program import Program


class Watched:
    """An embedder that says when it was first asked."""

    id, dimension = "watched", 3

    def __init__(self, problem=None):
        self.asked, self.problem = threading.Event(), problem

    def embed(self, texts):
        self.asked.set()
        if self.problem:
            raise self.problem
        return np.ones((len(texts), 3), np.float32)


def test_the_first_engine_of_a_process_is_warmed_up_and_only_once():
    made, embedder = [], Watched()

    def make(config):
        made.append(Engine(config, embedder=embedder))
        return made[-1]

    own = Program(make)
    assert not embedder.asked.is_set()
    engine = own.engine
    assert embedder.asked.wait(60) and own.engine is engine and len(made) == 1


def test_a_failing_part_ends_the_warm_up_quietly(data, caplog):
    with caplog.at_level(logging.DEBUG, logger="ui.app.warmup"):
        thread = warmup.begin(Engine(AppConfig.of(data=data), embedder=Watched(ModelError("The model is missing."))))
        thread.join(30)
    assert not thread.is_alive() and thread.daemon
    [record] = [record for record in caplog.records if record.name == "ui.app.warmup"]
    assert record.levelno == logging.DEBUG and "The model is missing." in caplog.text


@pytest.mark.slow
def test_nothing_is_sent_before_anybody_asked(data, model_server):
    served = {"llm": "openai-compatible", "llm_base_url": model_server.address, "llm_model": "ok", "evaluator": "llm"}
    engine = Engine(AppConfig.of(data=data, **served))
    thread = warmup.begin(engine)
    thread.join(60)
    assert not thread.is_alive() and model_server.seen == []
    assert list(engine.grade("?", ["Any text."])) and model_server.seen  # it would be seen
