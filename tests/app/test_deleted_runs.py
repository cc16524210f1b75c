"""A deleted run is served nowhere: by its address, in a tab that showed it, by links drawn before, on the map."""

from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from crag.core.config import AppConfig
from crag.core.errors import NotFoundError
from crag.engine import Engine
from crag.storage.library import Library
from tests.engine.test_deleting import Quoting, delete_runs, word
from tests.support.app_text import ask, said, visit
from tests.support.looking import in_objects
from tests.support.small_library import TEXTS, WordEmbedder, add_document
from ui.app.program import program
from ui.components import downloads

PAGES = ("documents", "tune", "compare", "evaluate", "monitor")


@pytest.fixture
def engine(data) -> Iterator[Engine]:
    program().make = lambda config: Engine(config, embedder=WordEmbedder(), evaluator=Quoting())
    add_document(program().engine, "report.pdf", TEXTS)
    yield program().engine


def in_another_process(engine: Engine) -> Library:
    """The same library as another program has it open, which tells this one nothing."""
    return Engine(AppConfig.of(data=engine.config.storage.data), embedder=WordEmbedder()).library()


def shown(tab: AppTest, page: str = "") -> str:
    tab = tab.switch_page(f"pages/{page}.py").run() if page else tab.run()
    assert not tab.exception
    charts = [each.proto.spec for each in tab.get("plotly_chart")]
    return "\n".join([said(tab), repr(tab.main), repr(tab.sidebar), *charts])


def made(link: downloads.Offer) -> str:
    """The file, as the server's route makes it; nothing where it is refused."""
    try:
        return str(link.tab.do(link.make))
    except NotFoundError:
        return ""


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "by another process"])
def test_a_deleted_run_is_served_nowhere(engine: Engine, elsewhere: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    downloads._offers.clear()  # what tests before this one offered, of libraries that are gone
    letters = word()
    tab = visit()
    ask(tab, "How many people were hired?")
    run = ask(tab, f"How many people did {''.join(letters)} hire?").run_id
    on_map = visit("documents")
    on_map.segmented_control(key="documents-view").set_value("map").run()
    other = visit(run=run)
    compared = visit("compare", runs=run)
    assert all("".join(letters) in shown(each) for each in (tab, other, on_map, compared)), "else nothing is shown"
    links = [each for each in downloads._offers.values() if "".join(letters) in made(each)]
    assert {each.name.rpartition(".")[2] for each in links} == {"html", "md", "jsonl"} and len(links) > 5

    library = in_another_process(engine) if elsewhere else engine.library()
    library.runs.delete(run)

    assert not [each.name for each in links if "".join(letters) in made(each)]
    for each in (tab, other, on_map, compared, visit(run=run), visit("compare", runs=run), *map(visit, PAGES)):
        assert "".join(letters) not in shown(each)


def test_what_the_app_held_of_deleted_runs_and_documents_is_gone_from_memory(engine: Engine) -> None:
    letters = word()
    id = add_document(engine, "other.pdf", [f"The {''.join(letters)} agency hired nine people in 2018."])
    tab = visit()
    ask(tab, f"How many people did the {''.join(letters)} agency hire in 2018?")
    for page in PAGES:
        visit(page)
    tab.chat_input(key="question").set_value("How many people were hired?").run()
    del tab
    assert in_objects("".join(letters)), "else nothing would be shown"
    delete_runs(engine.library())
    engine.library().documents.delete(id)
    engine.library().refresh_index()
    engine.trace("How many people were hired?")
    assert in_objects("".join(letters)) == []
