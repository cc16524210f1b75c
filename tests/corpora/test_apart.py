"""Benchmarks and training share `corpora`, and nothing else of each other."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("folder", "others"),
    [("benchmarks", "training"), ("training", "benchmarks"), ("corpora", "benchmarks|training")],
)
def test_no_module_imports_the_other_folder(folder: str, others: str) -> None:
    importing = re.compile(rf"^\s*(?:from|import) (?:{others})\b", re.MULTILINE)
    modules = [path for path in (ROOT / folder).rglob("*.py") if "__pycache__" not in path.parts]
    assert modules
    assert [path.name for path in modules if importing.search(path.read_text(encoding="utf-8"))] == []
