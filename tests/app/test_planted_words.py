"""Words planted in one browser's library, in all that can be stored, and looked for by another at every address."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from crag.analysis.evaluate import add_set, evaluate, evaluations
from crag.analysis.gaps import gaps
from crag.analysis.questions.sets import Question, QuestionSet
from crag.core.protocols import RunRequest
from crag.core.types import Action
from crag.storage.private import name_of
from tests.support.app_text import said
from ui.access import current
from ui.app.program import program
from ui.components import downloads

WORD = "zanzibarine"
TEXT = f"The {WORD} lighthouse of Alexandria guided ships into the harbour of the city, and was built of stone."
PAGES = ("ask", "documents", "tune", "compare", "evaluate", "monitor", "settings")


@dataclass(frozen=True, kw_only=True)
class Planted:
    """A library that says its word everywhere: its key, and the ids of what is in it.

    A page of its own follows the upload until that has ended; `end_upload` does.
    """

    key: str
    runs: tuple[str, str]
    upload: str
    missed: str
    set: str
    evaluation: str
    end_upload: Callable[[], None]


@pytest.fixture
def planted(data, monkeypatch):
    monkeypatch.setenv("CRAG_WORKSPACES", "private")
    engine = program().engine
    key = engine.private_libraries.issue()
    workspace = name_of(key)
    list(engine.add(f"{WORD}.txt", TEXT.encode(), workspace))
    question = f"What did the {WORD} lighthouse guide?"
    runs = [engine.trace(RunRequest(question, each, workspace, via="app")).run_id for each in ("balanced", "plain-rag")]
    missed = engine.trace(
        RunRequest(f"Which wage do {WORD} bakers in Peru earn a month?", workspace=workspace, via="app")
    )
    assert missed.action == Action.INCORRECT
    library = engine.library(workspace)
    set_id = add_set(library, QuestionSet(name=f"set {WORD}", questions=(Question(id="1", question=question),)))
    list(evaluate(engine, set_id, RunRequest("", "balanced", workspace)))
    job = program().jobs.start("upload", f"{WORD}.txt", lambda cancel, emit: cancel.wait(60), workspace=workspace)
    yield Planted(
        key=key,
        runs=(runs[0], runs[1]),
        upload=job.id,
        missed=missed.run_id,
        set=set_id,
        evaluation=evaluations(library)[0].id,
        end_upload=job.stop,
    )
    job.stop()


def visit(app: AppTest, key: str, page: str = "", shown: str = "", **address: str) -> AppTest:
    """A browser of its own at an address; `shown`: which part of Evaluate."""
    opened = AppTest.from_file(app._script_path, default_timeout=60)
    for name, value in {"w": key, **address}.items():
        opened.query_params[name] = value
    opened.session_state["gaps-open"] = True
    opened.run()
    if page:
        for name, value in address.items():
            opened.query_params[name] = value
        opened.switch_page(f"pages/{page}.py").run()
    if page == "tune":
        for fold in ("more", "unknown", "weights", "curves", "export"):
            opened.session_state[f"tune-{fold}"] = True
        opened.run()
    if shown:
        opened.button_group(key="eval-view").set_value(shown).run()
    assert not opened.exception
    return opened


def all_of(app: AppTest) -> str:
    """All that the browser was told: what is read, tables, labels, choices."""
    tables = [str(each.value) for each in app.dataframe]
    choices = [str(each.options) for kind in (app.selectbox, app.radio, app.multiselect) for each in kind]
    labels = [each.proto.label for kind in ("link_button", "expander") for each in app.get(kind)]
    return "\n".join([said(app), *tables, *choices, *labels, repr(app.main), repr(app.sidebar)])


def test_no_address_shows_a_word_of_another_library(planted: Planted, app: AppTest) -> None:
    engine = program().engine
    other = engine.private_libraries.issue()
    list(engine.add("own.txt", b"A ferry leaves the quay of Rostock at nine in the morning.", name_of(other)))
    engine.trace(RunRequest("When does the ferry leave?", workspace=name_of(other), via="app"))
    first, second = planted.runs
    addresses: list[tuple[str, dict[str, str]]] = [
        *((page, {}) for page in PAGES),
        *((page, {"run": first}) for page in ("", "tune", "compare", "documents", "evaluate")),
        *[("", {"run": planted.missed}), ("", {"run": first, "present": "1"})],
        *[("compare", {"runs": f"{first},{second}"}), ("compare", {"runs": first}), ("compare", {"runs": planted.set})],
        *[("documents", {"upload": planted.upload}), ("documents", {"run": planted.missed})],
        *[("evaluate", {"set": planted.set}), ("evaluate", {"evaluation": planted.evaluation})],
    ]
    for page, address in addresses:
        seen = all_of(visit(app, other, page, **address))
        assert WORD not in seen.lower() and "lighthouse" not in seen, (page, address)
    for shown in ("results", "pair"):
        assert WORD not in all_of(visit(app, other, "evaluate", shown)).lower()
    assert not gaps(engine.library(name_of(other)))


EXPORTS = (
    ("", "", "run"),
    ("compare", "", "runs"),
    ("tune", "", ""),
    ("monitor", "", ""),
    ("evaluate", "sets", ""),
    ("evaluate", "results", ""),
    ("documents", "", ""),
)


def exported(app: AppTest, planted: Planted, key: str, offered: dict[str, Callable[[], str | bytes]]) -> dict[str, str]:
    """Every file that is offered at these addresses, made as a click does: later, in a thread of its own."""
    values, found = {"run": planted.runs[0], "runs": ",".join(planted.runs)}, {}
    with ThreadPoolExecutor(1) as clicks:
        for page, shown, name in EXPORTS:
            offered.clear()
            visit(app, key, page, shown, **({name: values[name]} if name else {}))
            for label, make in offered.items():
                data = clicks.submit(make).result(60)
                found[f"{page} {shown} {label}"] = data if isinstance(data, str) else data.decode("utf-8-sig")
    return found


@pytest.mark.slow
def test_exports_in_every_format_hold_the_words_of_their_own_library_alone(
    planted: Planted, app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered: dict[str, Callable[[], str | bytes]] = {}

    def linked(label: str, url: str, **named: object) -> None:
        """As the server's route makes a file: in the tab that offers it."""
        found = downloads.offer(url.split("/")[-2])
        assert found is not None
        offered[label] = partial(found.tab.do, found.make)

    monkeypatch.setattr(st, "link_button", linked)
    monkeypatch.setattr(current, "_BELIEVED", 0.0)  # as if seconds went by between the page and the click
    engine = program().engine
    other = engine.private_libraries.issue()
    list(engine.add("own.txt", b"A ferry leaves the quay of Rostock at nine in the morning.", name_of(other)))
    run = engine.trace(RunRequest("When does the ferry leave?", workspace=name_of(other), via="app")).run_id
    planted.end_upload()
    own = exported(app, planted, planted.key, offered)
    of_run = {"One HTML page", "Markdown with footnotes", "Events, one JSON object a line"}
    assert of_run <= {each.strip() for each in own}
    saying = {name for name, text in own.items() if WORD in text.lower()}
    assert {f"  {each}" for each in of_run} <= saying and {name.partition(" ")[0] for name in saying} >= {
        *("", "compare", "tune", "evaluate")
    }
    foreign = exported(app, planted, other, offered)
    foreign |= exported(app, replace(planted, runs=(run, planted.runs[1])), other, offered)
    assert foreign and not [name for name, text in foreign.items() if WORD in text.lower()]
    assert any("Rostock" in text for text in foreign.values())


OWN = (
    ("documents", "", ()),
    ("documents", "", ("upload",)),
    ("", "", ("run",)),
    ("", "", ("run", "present")),
    ("compare", "", ("runs",)),
    ("evaluate", "", ()),
    ("evaluate", "results", ()),
)


def test_its_own_browser_sees_them_there(planted: Planted, app: AppTest) -> None:
    """Else the tests above would find nothing anywhere."""
    planted.end_upload()
    values = {"run": planted.runs[0], "present": "1", "runs": ",".join(planted.runs), "upload": planted.upload}
    for page, shown, address in OWN:
        opened = visit(app, planted.key, page, shown, **{name: values[name] for name in address})
        assert WORD in all_of(opened).lower(), (page, shown, address)
        if page == "documents" and not address:
            assert "bakers in Peru" in said(opened), "the gap"
