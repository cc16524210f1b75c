"""The examples: each is short, is listed, and runs with no key and no network."""

import json
import re
import sys
from pathlib import Path

import pytest

from tests.examples.conftest import ROOT, Run, process

pytestmark = pytest.mark.slow

EXAMPLES = ROOT / "examples"
TENANTS = {"pilots": "ntsb-", "clerks": "opm-2017-"}
PROGRAMS = sorted(path.name for path in EXAMPLES.iterdir() if path.suffix in {".py", ".sh"})


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_example_is_under_60_lines(name: str) -> None:
    assert len((EXAMPLES / name).read_text(encoding="utf-8").splitlines()) < 60


def test_every_example_is_listed() -> None:
    listed = re.findall(r"\]\(([a-z_]+\.(?:py|sh))\)", (EXAMPLES / "README.md").read_text(encoding="utf-8"))
    assert sorted(listed) == PROGRAMS


def test_a_graph_of_one_s_own_quotes_or_hands_over(run: Run) -> None:
    shown_text = run("own_graph")
    correct, ambiguous, incorrect = shown_text.strip().split("\n\n")
    assert "CORRECT: opm-annual-performance-report-2019.pdf, page 4: " in correct
    assert "AMBIGUOUS: a colleague is asked" in ambiguous
    assert "INCORRECT: a colleague is asked" in incorrect


def test_thresholds_are_tuned_on_labels(run: Run) -> None:
    shown_text = run("tune_thresholds")
    assert re.search(r"^46 questions, answered in the documents: 2\d$", shown_text, flags=re.MULTILINE)
    assert "Recommended: upper 0." in shown_text
    assert "0.95 / 0.05 sends 100% of the questions to AMBIGUOUS" in shown_text


def test_two_tenants_never_see_one_another_s_documents(run: Run) -> None:
    shown_text = run("agent_with_memory")
    shown = {
        name: re.findall(rf"^{name} · .*\n  (\w+): (.*)\n  (.*)$", shown_text, flags=re.MULTILINE) for name in TENANTS
    }
    for tenant, prefix in TENANTS.items():
        actions, sources, replies = zip(*shown[tenant], strict=True)
        assert "CORRECT" in actions and "INCORRECT" in actions
        named = re.findall(r"[\w-]+\.html", " ".join(sources))
        assert named and all(name.startswith(prefix) for name in named)
        assert [re.sub(r".*\((\d) messages.*", r"\1", reply) for reply in replies] == ["2", "4", "6"]
    assert re.search(r"pilot injured\? \(.*\?\)", shown_text), "its memory completes a follow-up"


def test_any_store_is_corrected(run: Run) -> None:
    shown_text = run("any_store")
    alone, corrected = map(int, re.findall(r"^(?:The store alone|C\w+): (\d+)$", shown_text, re.MULTILINE))
    assert alone == 10 and 0 < corrected < 10
    assert "skidded on a patch of packed snow" in shown_text.partition("Answered:")[2]
    assert shown_text.endswith("['ntsb-chi08ca047.html']\n")


def test_an_mcp_client_adds_asks_and_reads(data: Path) -> None:
    shown_text = process([sys.executable, "-m", "examples.mcp_client"], data)
    assert "Tools: search ask grade documents explain add_document\n" in shown_text
    assert "ntsb-chi08ca047.html: added, " in shown_text
    assert "Decides." in shown_text, "the steps are shown as they happen"
    assert re.search(r"^CORRECT: After landing on runway 04", shown_text, flags=re.MULTILINE)
    assert re.search(r"^\[1\] ntsb-chi08ca047\.html, \d{4} characters$", shown_text, flags=re.MULTILINE)


def test_few_labels_recommend_nothing(run: Run, tmp_path: Path) -> None:
    labels = tmp_path / "few.jsonl"
    row = {"question": "How long is the warranty?", "text": "The warranty lasts two years.", "answers": "yes"}
    labels.write_text(json.dumps(row) + "\n", encoding="utf-8")
    shown_text = run("tune_thresholds", str(labels))
    assert "No recommendation." in shown_text
    assert "So far: 1 and 0." in shown_text
