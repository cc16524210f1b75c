"""Every command of benchmarks/README.md still runs, small, in a copy of the tree: no committed figure is touched."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from corpora.papers import GROUPS
from tests.benchmarks.test_financebench import write_summaries
from tests.support.model_server import serving
from tests.support.tiny_pdf import line, pdf

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
SECONDS = 1_800

COMMANDS = {
    "answers": "--limit 4 --kinds prose",
    "ask": "--chunks 300 --questions 30",
    "attacks": "--only filters",
    "conversation": "--no-model --limit 2",
    "conversation_page": "--reruns 3",
    "evaluator": "--limit 4",
    "faithbench": "--limit 2 --data faithbench",
    "faithfulness": "--limit 4 --part figures",
    "financebench": "--limit 1 --strategies plain-rag balanced",
    "headline": "--limit 3",
    "ingest": "--documents 1 --without-recipe",
    "injection": "--limit 2 --minutes 0.1",
    "lookups": "--filings 1 --each 4",
    "model_lookups": "--each 1 --minutes 1",
    "notes": "--notes 4",
    "overviews": "",
    "overhead": "--runs 30 --pairs 1 --requests 4 --crowd 2 --starts 2",
    "papers": "--papers papers --limit 1",
    "popqa": "--limit 3",
    "recognition": "--pages 1",
    "reports": "--only mixed",
    "retrieval": "",
    "same_answers": "--record record.json --filings 1",
    "scale": "--sizes 300 --sides embedded flat",
    "soak": "--part reruns --dry --sessions 1 --pages ask --rerun-seconds 2",
    "table_cells": "--only",
    "thresholds": "--limit 2",
    "tune": "--runs 20 --moves 2",
    "xquad": "--answers --languages zh --questions 4",
}
"""The options with which a command takes a minute at most, but for those that must read all of their data."""

NEEDS = {"retrieval": "langchain_text_splitters"}
"""Packages of benchmarks/requirements.txt, without which a command can't begin."""


INSTALLS = {"field.retrieval"}
"""Installs other libraries from the network: tests/benchmarks/test_field.py runs what is left without them."""
ASK_A_MODEL = ("headline", "model_lookups")


def test_no_command_is_left_out() -> None:
    named = set(re.findall(r"`python -m benchmarks\.([\w.]+)", (ROOT / "benchmarks" / "README.md").read_text("utf-8")))
    assert named - INSTALLS == set(COMMANDS)


@pytest.mark.parametrize("name", sorted({*COMMANDS, *INSTALLS}))
def test_a_command_is_whole(name: str) -> None:
    """Its module and all that it takes from others are there: what rots is seen without a run."""
    assert callable(import_module(f"benchmarks.{name}.__main__" if name == "attacks" else f"benchmarks.{name}").main)


@pytest.fixture(scope="module")
def tree() -> Iterator[Path]:
    """A copy of benchmarks/ beside links to everything else, so that results are written there."""
    outer = TemporaryDirectory(prefix="crag-benchmarks-")
    Path(outer.name).chmod(0o755)  # a database server of its own user works in it
    folder = Path(outer.name) / "copy"
    folder.mkdir()
    for path in ROOT.iterdir():
        if path.name not in {"benchmarks", "data"}:
            (folder / path.name).symlink_to(path)
    write_summaries(folder / "faithbench")
    for group in GROUPS:
        (folder / "papers" / group).mkdir(parents=True)
        (folder / "papers" / group / "invoice.pdf").write_bytes(pdf([line(60, 700, "Invoice Number: 42183017", 10)]))
    shutil.copytree(ROOT / "benchmarks", folder / "benchmarks", ignore=shutil.ignore_patterns("__pycache__"))
    with outer:
        yield folder


@pytest.mark.heavy
@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_runs(name: str, tree: Path, shared_data: Path) -> None:
    if name in NEEDS and find_spec(NEEDS[name]) is None:
        pytest.skip(f"{NEEDS[name]} is not installed; benchmarks/requirements.txt names it.")
    committed = {path: path.read_bytes() for path in RESULTS.iterdir()}
    with serving() as server:
        asked = {"CRAG_LLM": "openai-compatible", "CRAG_LLM_MODEL": "ok", "CRAG_LLM_BASE_URL": server.address}
        places = {"CRAG_SHARED": shared_data.parent, "CRAG_BENCH_CACHE": tree / "cache", "TMPDIR": tree.parent}
        environment = os.environ | {name: str(path) for name, path in places.items()}
        environment |= asked if name in ASK_A_MODEL else {}
        ended = subprocess.run(
            [sys.executable, "-m", f"benchmarks.{name}", *COMMANDS[name].split()],
            cwd=tree,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert ended.stdout.strip(), "it prints what it found"
    assert {path: path.read_bytes() for path in RESULTS.iterdir()} == committed
