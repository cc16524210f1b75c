"""The house: what the pages say is so: tables, the Python example, commands, links, and the paths they name."""

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from docs import site

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)


def test_a_reader_is_through_it_in_90_lines() -> None:
    assert len(README.splitlines()) <= 90


def test_the_reference_s_tables_are_those_of_the_code() -> None:
    ran = subprocess.run([sys.executable, "docs/tables.py", "--check"], cwd=ROOT, check=False)
    assert ran.returncode == 0, "run python docs/tables.py"


REMEMBERING = """
import crag.models.runtime
from tests.support.remembering import RememberingE5
crag.models.runtime.E5 = RememberingE5
"""
"""Said before the example: the sample's vectors are those that `sample_data` has made, or other tests of this run."""


@pytest.mark.slow
def test_its_python_example_runs_as_it_stands(tmp_path: Path, sample_data: Path) -> None:
    (example,) = blocks("python")
    assert len(example.strip().splitlines()) <= 13
    ran = subprocess.run(
        [sys.executable, "-c", REMEMBERING + example],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    events, _, result = ran.stdout.partition("embedding\n")
    assert set(events.split()) == {"reading_page", "document_added"}
    assert "('opm-annual-performance-report-2019.pdf', " in result


def test_its_make_targets_and_commands_exist(capsys: pytest.CaptureFixture[str]) -> None:
    text = "\n".join(blocks("sh"))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"\bmake ([a-z]+)", text):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target
    from crag.cli.main import main

    for line in re.findall(r"^crag (.*)$", text, flags=re.MULTILINE):
        command, flags = line.split()[0], re.findall(r"(?<= )--[a-z-]+", line)
        assert main([command, "--help"]) == 0
        shown = capsys.readouterr().out
        assert all(flag in shown for flag in flags), line


PAGES = [
    *("README.md", "CHANGELOG.md", "benchmarks/README.md", "training/README.md", "samples/README.md"),
    *("examples/README.md", "docs/llms.txt"),
    *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / ".github").rglob("*.md"))),
    *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))),
]


@cache
def anchors(page: Path) -> set[str]:
    """The places of a page that a link may lead to: its headings as GitHub names them."""
    found = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {site.anchor(heading) for heading in found}


def test_links_and_pictures_lead_somewhere() -> None:
    missing = []
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        for target, _, anchor in re.findall(r"\]\(([^)#\s]*)(#([^)\s]+))?[^)]*\)", text):
            there = (ROOT / page).parent / target if target else ROOT / page
            if "://" not in target and (not there.exists() or (anchor and anchor not in anchors(there))):
                missing.append(f"{page}: {target}#{anchor}")
    assert missing == []


def names_something(name: str) -> bool:
    """Whether there is such a room or module, a module or room that gives the last part, or code that says the name."""
    whole = ROOT.joinpath(*name.split("."))
    if whole.is_dir() or whole.with_suffix(".py").is_file():
        return True
    room = whole.parent
    for module in (room.with_suffix(".py"), room / "__init__.py"):
        if module.is_file() and whole.name in module.read_text(encoding="utf-8"):
            return True
    return f'"{name}"' in all_code()


@cache
def all_code() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "crag").rglob("*.py"))


def test_the_files_and_modules_that_a_page_names_are_there() -> None:
    """Paths of tracked folders in code marks, tests too, and modules such as `crag.storage`, perhaps with a name."""
    folders = "crag|ui|pages|docs|tests|training|benchmarks|corpora|samples|examples"
    gone = []
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        for path, test in re.findall(rf"`((?:{folders})/[\w./-]*)(?:::(\w+))?`", text):
            there = (ROOT / path).exists()
            if not there or (test and not re.search(rf"^(?:def|class) {test}\b", (ROOT / path).read_text(), re.M)):
                gone.append(f"{page}: {path} {test}")
        names = re.findall(r"`((?:crag|ui)(?:\.\w+)+)`", text)
        gone += [f"{page}: {name}" for name in names if not names_something(name)]
    assert gone == []


def test_every_decision_is_listed_and_says_what_was_weighed() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = re.findall(r"\]\(([a-z-]+\.md)\)", (folder / "README.md").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(path.name for path in folder.glob("*.md") if path.name != "README.md")
    assert len(listed) <= 18, "a new decision changes a page, or replaces one"
    for page in listed:
        text = (folder / page).read_text(encoding="utf-8")
        headings = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
        assert headings == ["Decision", "Alternatives", "Consequences", "Measured"][: len(headings)], page
        assert len(headings) >= 3 and re.search(r"^Status: \w+, \w+ \d{4}", text, flags=re.MULTILINE), page


def test_the_site_holds_every_page_and_each_of_its_links_leads_somewhere(tmp_path: Path) -> None:
    built = site.build(tmp_path / "site")
    missing = {ROOT / page for page in PAGES if page.startswith("docs/") and page.endswith(".md")} - {
        ROOT / path.relative_to(tmp_path / "site").with_suffix(".md") for path in built
    }
    assert {path.name for path in missing} == {"README.md"}, "list the page in docs/README.md"
    gone = []
    for page in built:
        for target, _, name in re.findall(r'(?:href|src)="([^"#]*)(#([^"]+))?"', page.read_text(encoding="utf-8")):
            there = page.parent / target if target else page
            if "://" in target or (
                there.is_file() and (not name or f'id="{name}"' in there.read_text(encoding="utf-8"))
            ):
                continue
            gone.append(f"{page.relative_to(tmp_path)}: {target}#{name}")
    assert gone == []
