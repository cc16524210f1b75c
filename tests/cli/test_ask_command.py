"""`search` and `ask`: chunks and runs on the sample, as people and as scripts read them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from crag.core.events import Event, event_from_json
from crag.core.sample import Sample
from crag.core.strategies import STRATEGIES
from crag.core.types import Action
from crag.models.runtime import E5
from crag.storage.library import Library
from tests.support.model_server import serving
from tests.support.shell import Ran, crag, process


@pytest.fixture(scope="module")
def runs(library: Path, sample: Sample) -> dict[Action, Ran]:
    """The sample's three questions, asked with its folder as the web."""
    return {
        each.expected: crag(
            "ask", each.question, "--library", library, "--web-folder", sample.web, "--strategy", "balanced", "--json"
        )
        for each in sample.questions
    }


def parts(ran: Ran) -> tuple[list[Event], dict[str, Any]]:
    """The events and the record of the run."""
    *lines, last = ran.out.splitlines()
    return [event_from_json(line) for line in lines], json.loads(last)


def test_the_samples_questions_end_in_their_three_actions(runs: dict[Action, Ran]) -> None:
    assert set(runs) == set(Action)
    for expected, ran in runs.items():
        assert ran.code == 0, ran.err
        assert parts(ran)[1]["action"] == expected


def test_every_citation_points_to_the_words_it_quotes(runs: dict[Action, Ran], sample: Sample) -> None:
    cited = 0
    for ran in runs.values():
        record = parts(ran)[1]
        texts = {chunk["id"]: chunk for chunk in record["chunks"]}
        texts |= {page["id"]: page for page in record["web_sources"]}
        for citation in record["citations"]:
            cited += 1
            assert f"[{citation['number']}]" in record["answer"]
            assert citation["quote"] in texts[citation["source_id"]]["text"]
            if citation["origin"] == "internal":
                assert citation["source"] == sample.pdf.name
                assert citation["page"] == texts[citation["source_id"]]["page"] >= 1
    assert cited


def test_a_saved_configuration_is_asked_by_its_name(library: Path, tmp_path: Path, sample: Sample) -> None:
    place = tmp_path / "library"
    shutil.copytree(library, place)
    with Library(place, E5()) as opened:
        opened.configurations.save("Our pair", "paper", STRATEGIES["paper"].settings.changed(upper=0.95, k=3))
    question = sample.questions[0].question
    _, record = parts(crag("ask", question, "--library", place, "--strategy", "Our pair", "--set", "k=2", "--json"))
    assert record["strategy"] == "paper" and len(record["chunks"]) == 2
    unknown = crag("ask", question, "--library", place, "--strategy", "Our pear")
    assert unknown.code == 2 and "Our pair" in unknown.err and "balanced" in unknown.err


@pytest.mark.slow
def test_an_answer_for_people_says_action_file_and_page(library: Path, sample: Sample) -> None:
    question = next(each.question for each in sample.questions if each.expected is Action.CORRECT)
    ran = process("ask", question, "--library", library)
    assert ran.code == 0
    assert "CORRECT: together the passages fit" in ran.out
    assert f"[^1]: {sample.pdf.name}, page " in ran.out and ran.out.startswith(f"## {question}\n")
    assert "retrieve" in ran.err
    assert "\x1b" not in ran.out + ran.err


def test_the_words_that_answer_are_printed_first_and_are_in_the_record(library: Path) -> None:
    question = "Which president signed the Civil Service Act of 1883?"
    ran = crag("ask", question, "--library", library, "--set", "short_answer=0.5")
    first, blank, sentence = ran.out.splitlines()[4:7]
    assert (first, blank) == ("**Chester A. Arthur**[^1]", "")
    assert "Chester A. Arthur" in sentence and sentence.endswith("[^1].")
    ran = crag("ask", question, "--library", library, "--set", "short_answer=0.5", "--json")
    short = parts(ran)[1]["short_answer"]
    assert short["sentence"] == short["text"] == "Chester A. Arthur" and short["confidence"] > 0.5
    off = crag("ask", question, "--library", library, "--set", "short_answer=1")
    assert off.out.splitlines()[4] == sentence


def test_a_name_that_nothing_has_is_told(library: Path) -> None:
    ran = crag("ask", "Who is the mayor of Springfield?", "--library", library, "--strategy", "plain-rag")
    assert "Check this: nothing found names Springfield" in ran.out


def test_settings_given_by_name_and_by_set_are_the_ones_used(library: Path, sample: Sample) -> None:
    ran = crag(
        *("ask", sample.questions[0].question, "--library", library, "--json", "--k", 3, "--upper", 1, "--lower", 0),
        *("--aggregation", "mean", "--set", "max_rewrites=0", "--set", "web_on=INCORRECT,CORRECT"),
        *("--where", "Pages>0"),
    )
    record = parts(ran)[1]
    assert ran.code == 0
    assert record["action"] == "AMBIGUOUS"
    assert len(record["chunks"]) == 3
    assert record["settings"]["web_on"] == ["INCORRECT", "CORRECT"]
    assert (record["settings"]["aggregation"], record["settings"]["max_rewrites"]) == ("mean", 0)
    assert record["settings"]["where"] == {"pages": {">": 0}}


def test_search_gives_the_nearest_chunks_with_file_and_page(library: Path, sample: Sample) -> None:
    ran = crag("search", sample.questions[0].question, "--library", library, "--k", 4, "--json")
    found = ran.records
    assert [each["rank"] for each in found] == [1, 2, 3, 4]
    assert all(each["source"] == sample.pdf.name and each["page"] >= 1 and each["text"] for each in found)
    assert found == sorted(found, key=lambda each: -each["similarity"])
    assert {"id", "title", "similarity"} <= set(found[0])
    shown = crag("search", sample.questions[0].question, "--library", library, "--k", 1)
    assert f"{sample.pdf.name}, page {found[0]['page']}" in shown.out


def test_a_question_before_any_document_says_what_to_do(tmp_path: Path) -> None:
    ran = crag("ask", "Who kept the light?", "--json", CRAG_DATA=str(tmp_path / "data"))
    record = parts(ran)[1]
    assert ran.code == 1
    assert "Add files" in record["error"]
    assert crag("search", "Who kept the light?", CRAG_DATA=str(tmp_path / "data")).code == 1
    shown = crag("documents", CRAG_DATA=str(tmp_path / "data"))
    assert (shown.code, shown.out) == (0, "")
    assert "No documents yet" in shown.err


def test_an_unreadable_web_folder_is_told_and_the_run_goes_on(library: Path, sample: Sample, tmp_path: Path) -> None:
    question = next(each.question for each in sample.questions if each.expected is Action.INCORRECT)
    ran = crag("ask", question, "--library", library, "--web-folder", tmp_path / "nowhere", "--json")
    record = parts(ran)[1]
    assert ran.code == 0
    assert [failure["step"] for failure in record["failures"]] == ["search"]
    assert record["answer"]


def test_a_question_follows_on_a_stored_run(tmp_path: Path, library: Path) -> None:
    shutil.copytree(library, tmp_path / "own")
    own = ("--library", tmp_path / "own")
    first = crag("ask", "What was hiring manager satisfaction in FY 2019?", *own, "--json")
    id = parts(first)[1]["run_id"]
    second = crag("ask", "And in FY 2016?", *own, "--after", id, "--json")
    record = parts(second)[1]
    assert record["asked_as"] == "And in FY 2016? (What was hiring manager satisfaction?)" and record["after"] == id
    third = crag("ask", "And in FY 2017?", *own, "--after", record["run_id"])
    assert "Follows on: And in FY 2016?; What was hiring manager satisfaction?" in third.err and "--after" in third.err
    gone = crag("ask", "And in FY 2015?", *own, "--after", "nothing")
    assert gone.code == 1 and "There is no run" in gone.err


# `ask` with a language model that cites little: what was found afterwards and what nothing supports are shown


QUESTION = "Which president signed the Civil Service Act of 1883?"
SAYS = (
    "President Chester A. Arthur signed the Civil Service Act in 1883. ",
    "It was repealed by a later Congress in 1901.",
)


def test_of_a_writer_that_breaks_off_the_quote_in_its_place_is_printed(library: Path) -> None:
    with serving() as server:
        server.words = ["It was President Grover Cleveland [1]. ", "The law also ", "says that every", ""]
        served = ("--llm", "openai-compatible", "--base-url", server.address, "--model", "cut-off")
        ran = crag("ask", QUESTION, "--library", library, *served)
    assert ran.code == 0, ran.err
    assert "Cleveland" not in ran.out and "Arthur" in ran.out and "page 8" in ran.out


def test_uncited_sentences_get_their_source_or_are_flagged(library: Path) -> None:
    with serving() as server:
        server.words = list(SAYS)
        served = ("--llm", "openai-compatible", "--base-url", server.address, "--model", "ok")
        ran = crag("ask", QUESTION, "--library", library, *served)
        record = crag("ask", QUESTION, "--library", library, *served, "--json").records[-1]
    assert ran.code == 0, ran.err
    assert f"{SAYS[0].strip()[:-1]}[^1]. {SAYS[1]} *(nothing shown supports this" in ran.out
    found, flagged = record["checks"]
    assert (found["attributed"], found["supported"], flagged["supported"]) == (True, True, False)
    assert record["citations"][0]["found"] is True and record["faithfulness"] == 0.5
    assert flagged["note"].startswith("nothing shown supports this")
