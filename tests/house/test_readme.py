"""The house: what the README says is so: its tables, its Python example, its commands and its links."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)


def test_its_tables_are_those_of_the_code() -> None:
    ran = subprocess.run([sys.executable, "docs/tables.py", "--check"], cwd=ROOT, check=False)
    assert ran.returncode == 0, "run python docs/tables.py"


def test_its_python_example_runs_as_it_stands(tmp_path: Path) -> None:
    (example,) = blocks("python")
    assert len(example.strip().splitlines()) <= 13
    ran = subprocess.run(
        [sys.executable, "-c", example],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    events, _, result = ran.stdout.partition("document_added\n")
    assert set(events.split()) == {"reading_page", "embedding"}
    assert result.startswith("CORRECT ")
    assert "('opm-annual-performance-report-2019.pdf', " in result


def test_its_make_targets_and_commands_exist() -> None:
    text = "\n".join(blocks("sh"))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"\bmake ([a-z]+)", text):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target
    from crag.cli.main import main

    for line in re.findall(r"^python -m crag (.*)$", text, flags=re.MULTILINE):
        command, flags = line.split()[0], re.findall(r"(?<= )--[a-z-]+", line)
        with pytest.raises(SystemExit) as ended:
            main([command, "--help"])
        assert ended.value.code == 0
        shown = subprocess.run(
            [sys.executable, "-m", "crag", command, "--help"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
        assert all(flag in shown for flag in flags), line


@pytest.mark.parametrize("page", ["README.md", "benchmarks/README.md", "docs/decisions/README.md", "CHANGELOG.md"])
def test_its_links_and_pictures_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    targets = [each for each in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text) if "://" not in each]
    missing = [each for each in targets if not (ROOT / page).parent.joinpath(each).exists()]
    assert missing == []


def test_every_decision_is_listed() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = re.findall(r"\]\(([a-z-]+\.md)\)", (folder / "README.md").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(path.name for path in folder.glob("*.md") if path.name != "README.md")
