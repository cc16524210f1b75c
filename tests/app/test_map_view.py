"""The map on the Documents page: drawn, coloured, selected from, and plain where there is little or something fails."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from crag.analysis.atlas import projection
from crag.analysis.evaluate import evaluations
from crag.core.filters.where import Scope, narrow_filter
from crag.core.protocols import RunRequest
from crag.engine import Engine
from crag.testing.fakes import ScriptedEvaluator
from tests.support.app_text import pick, said
from tests.support.small_library import TEXTS, WordEmbedder, add_document
from tests.support.tab_states import state_in
from ui.app.program import program
from ui.app.tab import RunsState
from ui.documents import map_view
from ui.documents.map_view import Selection
from ui.documents.state import DocumentsState

HOSTILE = "<img src=x onerror=alert(1)>.pdf"
ALL = Selection(outlines=(((-99.0, -99.0), (99.0, -99.0), (99.0, 99.0), (-99.0, 99.0)),))


@pytest.fixture
def engine(data) -> Iterator[Engine]:
    evaluator = ScriptedEvaluator(score=lambda text: 0.9 if "hired" in text else 0.02)
    program().make = lambda config: Engine(config, embedder=WordEmbedder(), evaluator=evaluator)
    return program().engine


@pytest.fixture
def filled(engine) -> list[str]:
    return [add_document(engine, "report.pdf", TEXTS), add_document(engine, HOSTILE, TEXTS)]


def on_map(app):
    app.run()
    app.switch_page("pages/documents.py").run()
    app.segmented_control(key="documents-view").set_value("map").run()
    assert not app.exception
    return app


def figure(app) -> dict[str, Any]:
    [chart] = app.get("plotly_chart")
    return json.loads(chart.proto.spec)


def points(app) -> dict[str, Any]:
    return next(trace for trace in figure(app)["data"] if trace["mode"] == "markers" and not trace["showlegend"])


def values(array: Any) -> list[float]:
    """What plotly wrote as the bytes of an array."""
    return np.frombuffer(base64.b64decode(array["bdata"]), array["dtype"]).tolist()


def named(app) -> list[str]:
    return [trace["name"] for trace in figure(app)["data"] if trace.get("showlegend")]


def test_all_chunks_are_drawn_and_what_is_foreign_is_escaped(app, filled):
    shown = points(on_map(app))
    assert len(shown["hovertext"]) == 8 and "8 chunks, 0 past questions" in said(app)
    assert shown["hovertext"][0].startswith("<b>report.pdf</b>, p. 1<br>The agency hired")
    assert shown["hovertext"][4].startswith("<b>&lt;img src=x onerror=alert(1)&gt;.pdf</b>")
    assert not app.dataframe


def test_past_questions_are_coloured_by_their_action_and_open_from_a_list(app, filled, engine):
    run = engine.trace("How many people were hired?").run_id
    engine.trace("Zebra quagga okapi")
    assert {"✓ CORRECT"} <= set(named(on_map(app)))
    app.session_state["ui.documents.state.DocumentsState"].selection = Selection(clicked=(run,))
    app.run()
    app.button(key="map-open-0").click().run()
    assert state_in(app, RunsState).selected == run and not app.exception


@pytest.mark.parametrize("colour", map_view._COLOURS)
def test_each_colour_is_drawn(app, filled, engine, colour):
    run = engine.trace("How many people were hired?").run_id
    on_map(app)
    state_in(app, RunsState).selected = run
    app.run()
    app.selectbox(key="map-colour").set_value(colour).run()
    assert not app.exception and len(set(values(points(app)["marker"]["color"]))) >= (2 if colour == "score" else 1)


def test_a_run_whose_documents_are_gone_colours_nothing(app, filled, engine):
    run = engine.trace("How many people were hired?").run_id
    on_map(app)
    state_in(app, RunsState).selected = run
    engine.library().runs.delete(run)
    app.run()
    app.selectbox(key="map-colour").set_value("score").run()
    assert not app.exception and len(set(values(points(app)["marker"]["color"]))) == 1


def test_a_selection_says_what_is_in_it_and_is_asked_by_itself(app, filled):
    on_map(app)
    state_in(app, DocumentsState).selection = ALL
    app.run()
    assert "**Selected: 8 chunks of 2 documents**" in said(app) and "**report\\.pdf**: 4 chunks, p. 1–4" in said(app)
    app.button(key="map-ask").click().run()
    assert state_in(app, RunsState).scope == Scope(tuple(filled)) and not app.exception


def test_a_selection_is_evaluated_by_itself(app, filled, engine):
    add_document(engine, "left-out.pdf", TEXTS)
    on_map(app)
    state_in(app, DocumentsState).selection = ALL
    app.run()
    app.button(key="map-evaluate").click().run()
    app.session_state["eval-strategies"] = ["balanced"]
    app.switch_page("pages/evaluate.py").run()
    app.file_uploader[0].set_value([("set.csv", b"question\nHow many people were hired?\n", "text/csv")]).run()
    assert app.checkbox(key="eval-scoped").value and "(3 documents)" in app.checkbox(key="eval-scoped").label
    state_in(app, RunsState).scope = Scope(tuple(filled))
    app.run()
    app.button(key="eval-run").click().run()
    for job in program().jobs.running("evaluation"):
        for _ in job.follow():
            pass
    [made] = evaluations(engine.library())
    assert made.done == 1 and made.settings.where == narrow_filter("", Scope(tuple(filled))) and not app.exception


def test_selected_questions_are_what_tune_and_monitor_show(app, filled, engine):
    engine.trace("How many people were hired?")
    engine.trace("Zebra quagga okapi")
    [hired, _] = projection.refresh(engine.library()).asked_points.tolist()[::-1]
    on_map(app)
    near = tuple((hired[0] + x / 1e3, hired[1] + y / 1e3) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1)))
    state_in(app, DocumentsState).selection = Selection(outlines=(near,))
    app.run()
    app.button(key="map-tune").click().run()
    app.switch_page("pages/tune.py").run()
    assert app.selectbox(key="tune-runs").value == "picked" and not app.exception
    assert "Selected on the map (1)" in app.selectbox(key="tune-runs").options
    app.switch_page("pages/monitor.py").run()
    assert app.checkbox(key="mon-picked").value and not app.exception
    shown = said(app)
    app.checkbox(key="mon-picked").uncheck().run()
    assert said(app) != shown


def test_a_selection_is_selected_in_the_list_too(app, filled):
    on_map(app)
    state_in(app, DocumentsState).selection = ALL
    app.run()
    app.button(key="map-list").click().run()
    assert set(state_in(app, DocumentsState).selected) == set(filled) and len(app.dataframe) == 1


def test_more_documents_than_can_be_named_are_not_asked(app, engine):
    for at in range(101):
        add_document(engine, f"{at}.pdf", TEXTS[:1])
    on_map(app)
    state_in(app, DocumentsState).selection = ALL
    app.run()
    assert app.button(key="map-ask").disabled and "And 93 more documents" in said(app)


def test_near_duplicates_are_drawn_and_listed(app, filled):
    on_map(app)
    app.button_group(key="map-layers").set_value(["Near-duplicates"]).run()
    assert "8 chunks" in said(app)
    assert "Near-duplicates: 4 pairs" in " ".join(expander.label for expander in app.expander)
    assert "near-duplicates" in named(app)


def test_the_map_is_presented_with_its_holes_and_left_again(app, filled, engine):
    engine.trace(RunRequest("Zebra quagga okapi", "three-way"))
    on_map(app).button(key="map-present").click().run()
    shown = said(app)
    assert not app.exception and "8 chunks of 2 documents and 1 past question" in shown
    assert "1 question is far from every chunk" in shown and "Zebra quagga okapi" in shown
    assert len(points(app)["hovertext"]) == 8 and "height" not in figure(app)["layout"]
    pick(app, "present:close")
    assert "slideshow" not in said(app) and app.button(key="map-present") and not app.exception


def test_a_run_is_presented_with_its_question_on_the_map_once_there_is_one(app, filled, engine):
    for name in "abc":
        add_document(engine, f"{name}.pdf", TEXTS)
    run = engine.trace("How many people were hired?").run_id
    app.query_params["run"], app.query_params["present"] = run, "1"
    app.run()
    assert "The question among" not in said(app) and not app.get("plotly_chart")
    projection.refresh(engine.library())
    app.run()
    assert "The question among 20 chunks" in said(app) and not app.exception
    sizes = values(points(app)["marker"]["size"])
    assert max(sizes) > min(sizes) and "✓ CORRECT" in named(app)


@pytest.mark.parametrize("count", [1, 2])
def test_a_library_of_hardly_any_chunk_says_so(app, engine, count):
    add_document(engine, "report.pdf", TEXTS[:count])
    assert "from three on" in said(on_map(app)) and len(points(app)["hovertext"]) == count


def test_what_draws_charts_is_loaded_beside_the_list_of_a_large_library(app, filled, monkeypatch):
    app.run()
    app.switch_page("pages/documents.py").run()
    assert not app.get("plotly_chart")
    monkeypatch.setattr(map_view, "AT_ONCE", 4)
    assert len(app.run().get("plotly_chart")) == 1 and app.dataframe and not app.exception


def test_a_large_library_is_laid_out_by_a_job(app, filled, monkeypatch):
    monkeypatch.setattr(map_view, "AT_ONCE", 4)
    on_map(app)
    for job in program().jobs.running("map", workspace="default"):
        for _ in job.follow():
            pass
    app.run()
    assert len(points(app)["hovertext"]) == 8


def test_a_job_that_failed_says_why_and_can_be_tried_again(app, filled, monkeypatch, engine):
    monkeypatch.setattr(map_view, "AT_ONCE", 4)
    with engine.library()._database.write() as connection:
        connection.exec_driver_sql("DELETE FROM vectors")
    on_map(app)
    for job in program().jobs.running("map", workspace="default"):
        for _ in job.follow():
            pass
    app.run()
    assert app.error[0].value and app.button(key="map-again") and not app.exception


def test_of_many_points_an_even_part_is_drawn_over_a_picture_of_all(app, filled, monkeypatch):
    for name in ("map_figure.DRAWN", "map_figure.SAMPLED"):
        monkeypatch.setattr(f"ui.documents.{name}", 3)
    on_map(app)
    assert len(points(app)["hovertext"]) == 3
    assert figure(app)["layout"]["images"][0]["source"].startswith("data:image/png;base64,")
