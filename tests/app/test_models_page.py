"""The Models tab: services, servers and keys of one session, tried, and withheld from strangers."""

import json
import socket
from contextlib import contextmanager
from html import unescape
from threading import Thread

import pytest

from crag.providers import registry
from crag.providers.discovery import LOCAL_SERVERS
from crag.web.searxng import SEARXNG
from tests.support.app_text import latest, said, visit
from tests.support.eventually import eventually
from tests.support.model_server import GRADE, WORDS
from tests.support.models_tab import KINDS, choose, enter, press, widget
from tests.support.small_pdf import small_pdf
from tests.support.tab_states import state_in
from ui.app.program import program
from ui.app.tab import ChoicesState
from ui.components.tab_state import ShownLibrary

KEY = "sk-session-7f3aQzLm2c"
OWNER_KEY = "sk-owner-9dKw4TbXe1"


@pytest.fixture
def models(app):
    return visit("settings")


def names(app) -> set[str]:
    return {element.key.removeprefix("models-") for kind in KINDS for element in getattr(app, kind) if element.key}


def with_model(app, server, model="ok", *, listed=True):
    choose(app, llm="openai-compatible", llm_base_url=server.address)
    return choose(app, **{"llm_model-listed" if listed else "llm_model": model})


def plain(app) -> str:
    """What the page says, without what keeps it from being taken for markup."""
    return unescape(said(app).replace("\\", ""))


def everything_remembered(app) -> str:
    return repr(app.session_state.to_dict())


# Server, model and key


@pytest.mark.slow
def test_a_server_is_named_its_models_listed_and_one_tried(models, model_server):
    choose(models, llm="openai-compatible", llm_base_url=model_server.address)
    enter(models, KEY)
    choose(models, **{"llm_model-listed": "ok"})
    assert widget(models, "llm_model-listed").options == ["ok"]
    press(models, "test-llm")
    assert "It works" in plain(models) and "40 tokens" in plain(models)
    assert f"ok at 127.0.0.1:{model_server.server_port}" in said(models), "the status is this session's"
    assert set(model_server.heard[1:]) == {f"Bearer {KEY}"}


def test_a_key_is_never_shown_again(models, model_server):
    choose(models, llm="openai-compatible", llm_base_url=model_server.address)
    enter(models, KEY)
    models.run()
    assert models.text_input(key="models-key-llm").value == ""
    assert "Set for this session" in said(models) and KEY[-4:] not in said(models)
    assert KEY not in everything_remembered(models) and KEY not in str(dict(models.query_params))
    press(models, "key-llm-forget")
    assert "Set for this session" not in said(models) and not state_in(models, ChoicesState).own_keys
    models.run()
    assert model_server.heard[-1] == ""


@pytest.mark.slow
@pytest.mark.parametrize("typed", ["sk with blanks", "sk-\u2013dash", "sk\x00", "s" * 2000])
def test_what_can_be_no_key_is_refused_without_repeating_it(models, model_server, typed):
    choose(models, llm="openai-compatible", llm_base_url=model_server.address)
    enter(models, typed)
    assert "This is not a key" in models.error[0].value and typed not in said(models)
    assert not state_in(models, ChoicesState).own_keys
    models.run()
    assert not models.error


def test_a_rejected_key_is_told_in_words_and_the_model_can_be_typed(models, model_server):
    choose(models, llm="openai-compatible", llm_base_url=model_server.address)
    enter(models, "wrong")
    assert "does not accept the key" in plain(models) and "llm_model" in names(models)
    choose(models, llm_model="wrong-key")
    press(models, "test-llm")
    assert "does not accept the key" in models.error[0].value and "Enter a valid key" in models.error[0].value


@pytest.mark.slow
@pytest.mark.parametrize("address", ["http://[::1", "ftp://host/v1", "http://user:pass@127.0.0.1/v1", "nonsense"])
def test_an_address_that_is_none_is_told_and_kept_to_be_corrected(models, address):
    choose(models, llm="openai-compatible", llm_base_url=address)
    choose(models, **({"llm_model": "any"} if "llm_model" in names(models) else {}))
    assert "not the address of a" in plain(models)


def test_servers_that_run_on_this_machine_are_offered_at_one_click(models, model_server):
    with standing_in("LM Studio", model_server):
        for name in ("look", "found-LM Studio-ok"):
            eventually(lambda name=name: any(each.key == f"models-{name}" for each in models.run().button))
            press(models, name)
    assert widget(models, "llm").value == "openai-compatible"
    assert widget(models, "llm_base_url").value == LOCAL_SERVERS["LM Studio"]
    assert widget(models, "llm_model-listed").options == ["ok"]


@contextmanager
def standing_in(name, server):
    """The model server also answers where that local server would; the test is skipped where something is there."""
    port = int(LOCAL_SERVERS[name].split(":")[2].split("/")[0])
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", port))
        except OSError:
            pytest.skip(f"port {port} is taken")
        listening.listen()
        listening.settimeout(10)

        def handed_on() -> None:
            try:
                while True:
                    server.process_request(*listening.accept())
            except OSError:
                return

        Thread(target=handed_on, daemon=True).start()
        yield
        listening.shutdown(socket.SHUT_RDWR)


# Which key goes where


def test_a_key_goes_to_the_server_it_was_entered_for_and_no_other(models, model_server, other_server):
    with_model(models, model_server)
    enter(models, KEY)
    choose(models, llm_base_url=other_server.address)
    press(choose(models, **{"llm_model-listed": "ok"}), "test-llm")
    assert unkeyed(other_server, 2) and "Set for this session" not in said(models)
    choose(models, llm_base_url=model_server.address)
    assert "Set for this session" in said(models), "it is still there for its own server"


def unkeyed(server, least) -> bool:
    """Asked at least so often, and never with a key; "none" is what the client sends where there is none."""
    return len(server.heard) >= least and set(server.heard) <= {"", "Bearer none"}


@pytest.fixture
def owned(data, model_server, monkeypatch):
    """The owner stored a server and gave its key, and others, by the environment."""
    stored = {"llm": "openai-compatible", "llm_base_url": model_server.address, "llm_model": "ok"}
    (data / "settings.json").write_text(json.dumps(stored))
    for name in ("CRAG_LLM_KEY", "OPENAI_API_KEY", "CRAG_RERANK_KEY", "TAVILY_API_KEY"):
        monkeypatch.setenv(name, OWNER_KEY)
    return model_server


def test_the_owners_key_goes_to_the_owners_server_only(owned, other_server):
    models = visit("settings")
    assert "Set by the environment" in said(models) and not owned.heard, "nothing is asked before somebody wants it"
    press(press(models, "list"), "test-llm")
    assert set(owned.heard) == {f"Bearer {OWNER_KEY}"} and "It works" in said(models)
    choose(models, llm_base_url=other_server.address)
    press(choose(models, **{"llm_model-listed": "ok"}), "test-llm")
    assert unkeyed(other_server, 2)
    choose(models, evaluator="reranker", rerank_base_url=other_server.address)
    press(models, "test-rerank")
    assert unkeyed(other_server, 3)


@pytest.mark.slow
def test_a_run_too_takes_the_owners_key_nowhere_else(with_sample, owned, other_server):
    models = choose(visit("settings"), llm_base_url=other_server.address, **{"llm_model-listed": "ok"})
    ask(models)
    assert unkeyed(other_server, 2) and not owned.heard


@pytest.mark.slow
def test_the_sessions_key_comes_before_the_environments_and_that_before_the_secrets(owned, monkeypatch):
    models = visit("settings")
    enter(models, KEY)
    press(models, "test-llm")
    assert set(owned.heard) == {f"Bearer {KEY}"}
    press(models, "key-llm-forget")
    assert "Set by the environment" in said(models)
    models.secrets = {"CRAG_LLM_KEY": "sk-secret"}
    models.run()
    assert "Set by the environment" in said(models)
    monkeypatch.delenv("CRAG_LLM_KEY")
    owned.heard.clear()
    press(press(models, "list"), "test-llm")
    assert "Set by Streamlit" in said(models) and set(owned.heard) == {"Bearer sk-secret"}


# Grading, answers and the web


def test_a_reranking_server_that_works_is_said_to(models, model_server):
    choose(models, evaluator="reranker", rerank_base_url=model_server.address, rerank_model="any")
    press(models, "test-rerank")
    assert "It works" in said(models) and not models.error and "the local evaluator stands by" in said(models)


@pytest.mark.slow
def test_a_folder_of_pages_is_used_by_this_session_and_by_later_ones(models, tmp_path):
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "a.md").write_text("# A page\n\nWith words enough to be found by a search.")
    open_already = visit("settings")
    choose(models, web="folder")
    assert "Name the folder" in said(models)
    choose(models, web_folder=str(pages))
    assert "folder: " in said(models) and not models.error
    assert program().config.providers.web == "off" and widget(open_already.run(), "web").value == "off"
    assert widget(visit("settings"), "web_folder").value == str(pages)


@pytest.mark.parametrize("folder", ["/no/such/folder", "n" * 5000])
def test_a_folder_that_does_not_serve_is_reported_now_and_later(models, folder):
    choose(models, web="folder", web_folder=folder)
    assert models.error and widget(models, "web_folder").value == folder, "what was typed is kept to be corrected"
    later = visit("settings")
    assert later.error and widget(later, "web_folder").value == folder


def test_a_choice_that_is_no_longer_there_is_told_and_can_be_changed(data):
    (data / "settings.json").write_text(json.dumps({"web": "gone", "evaluator": "went", "run_calls": 77}))
    models = visit("settings")
    assert "no provider called 'gone'" in plain(models) and "no provider called 'went'" in plain(models)
    assert program().config.limits.run_calls == 77, "the other choices hold"
    choose(models, web="duckduckgo", evaluator="local")
    assert "no provider called" not in plain(models)


@pytest.mark.parametrize(("name", "of"), [("llm", "none"), ("evaluator", "local"), ("writer", "auto"), ("web", "off")])
def test_a_choice_that_the_browser_lost_is_shown_again(models, name, of):
    choose(models, **{name: None})
    assert widget(models, name).value == of and "Nothing has been changed" in said(models)


def test_strangers_name_a_search_server_only_where_one_is_allowed(shared, monkeypatch):
    assert "SearXNG" not in widget(visit("settings"), "web").options
    monkeypatch.setenv("CRAG_SERVERS", "http://127.0.0.1:8888")
    program().close()
    models = choose(visit("settings"), web="searxng")
    assert widget(models, "searxng_base_url-allowed").options == ["http://127.0.0.1:8888"]


# For next time


@pytest.mark.slow
def test_a_choice_of_the_program_leaves_what_is_under_way_and_what_is_loaded(with_sample, models):
    engine = program().engine
    before = (engine, engine.embedder, engine.evaluator, engine.library())
    job = program().jobs.start("run", "a question", lambda cancel, emit: cancel.wait(60), workspace="default")
    try:
        models.number_input(key="program-run_calls").set_value(77)
        next(each for each in models.button if each.label == "Save").click().run()
        assert "Saved and in use" in said(models) and program().config.limits.run_calls == 77 and job.running
        engine = program().engine
        after = (engine, engine.embedder, engine.evaluator, engine.library())
        assert [id(each) for each in after] == [id(each) for each in before]
    finally:
        job.stop()
    assert engine.library().documents.all(), "it is still open"


def test_what_the_environment_sets_is_shown_and_locked(monkeypatch):
    monkeypatch.setenv("CRAG_LLM", "openai")
    monkeypatch.setenv("CRAG_WEB_FALLBACK", "duckduckgo")
    models = choose(visit("settings"), web="tavily")
    assert widget(models, "llm").value == "openai" and widget(models, "llm").disabled
    assert widget(models, "web_fallback").disabled and "CRAG_LLM; change it there" in plain(models)
    assert widget(models, "web").value == "tavily"


# Where others can reach the app


def test_strangers_choose_none_or_openai_with_a_key_of_their_own(shared):
    models = visit("settings")
    assert widget(models, "llm").options == ["None", "OpenAI"]
    choose(models, llm="openai", web="tavily")
    assert "OpenAI needs one" in said(models)
    assert not {"web_folder", "private_addresses", "tavily_base_url", "keep"} & names(models)
    assert not [button for button in models.button if button.key in ("models-keep", "models-look")]
    offered = widget(models, "web").options
    assert offered[:2] == ["Off", "Tavily"] and not {registry.FOLDER.title, SEARXNG.title} & set(offered)


@pytest.mark.slow
def test_strangers_pick_from_the_servers_that_are_allowed(shared, model_server, other_server, monkeypatch):
    monkeypatch.setenv("CRAG_SERVERS", model_server.address)
    models = choose(visit("settings"), llm="openai-compatible")
    assert widget(models, "llm_base_url-allowed").options == [model_server.address]
    choose(models, **{"llm_base_url-allowed": model_server.address, "llm_model-listed": "ok"})
    assert "It works" in said(press(models, "test-llm"))


@pytest.mark.slow
def test_a_choice_smuggled_past_the_widgets_is_dropped(shared, other_server, tmp_path):
    models = visit("settings")
    library = program().engine.library(state_in(models, ShownLibrary).workspace)
    list(program().engine.add("light.pdf", small_pdf("The lighthouse guided ships."), library.folder.name))
    state_in(models, ChoicesState).choices = {
        **{"llm": "openai-compatible", "llm_base_url": other_server.address, "llm_model": "ok"},
        **{"evaluator": "reranker", "rerank_base_url": other_server.address},
        **{"web": "tavily", "tavily_base_url": other_server.address, "private_addresses": True},
        **{"web_folder": tmp_path, "servers": (other_server.address,)},
    }
    models.run()
    assert not models.exception
    ask(models, "Who leads the agency?")
    [run] = library.runs.latest(5)
    assert run.action and not other_server.heard


# A question asked with all this


def ask(app, question="What is the mission of the agency?"):
    app.switch_page("pages/ask.py").run()
    app.chat_input(key="question").set_value(question).run()
    assert not app.exception
    return app


@pytest.mark.slow
def test_a_question_is_answered_by_the_sessions_model_and_its_key_is_stored_nowhere(
    with_sample, models, model_server, data
):
    with_model(models, model_server)
    enter(models, KEY)
    choose(models, evaluator="llm")
    model_server.reply = GRADE
    ask(models)
    trace = latest()
    assert trace.answer and "ok" in trace.answer.by and trace.answer.text.startswith(WORDS[0].strip())
    assert "bridge was opened" in said(models) and set(model_server.heard[1:]) == {f"Bearer {KEY}"}
    holding = [file for file in data.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()]
    assert not holding and KEY not in said(models)


def test_a_model_file_is_chosen_and_its_size_is_said(models, data):
    assert not names(models) & {"llm_model", "llm_model-listed"}
    (data / "models").mkdir(parents=True)
    (data / "models" / "mine.gguf").write_bytes(b"GGUF")
    choose(models, llm="gguf")
    assert "No model file is chosen." in plain(models) and models.button(key="models-test-llm").disabled
    choose(models, **{"llm_model-listed": "mine.gguf"})
    assert "1 kB. It loads with the first question" in plain(models)
    assert not models.button(key="models-test-llm").disabled
    (data / "models" / "mine.gguf").unlink()
    models.run()
    assert "There is no model file mine.gguf." in plain(models)


def test_strangers_see_the_name_of_the_owners_model_file_and_no_more(shared, monkeypatch, tmp_path):
    monkeypatch.setenv("CRAG_LLM", "gguf")
    (tmp_path / "owners.gguf").write_bytes(b"GGUF")
    monkeypatch.setenv("CRAG_LLM_MODEL", str(tmp_path / "owners.gguf"))
    page = visit("settings")
    assert "owners.gguf, chosen by your administrator." in plain(page)
    assert str(tmp_path) not in everything_remembered(page) and "llm_model-listed" not in names(page)
