"""The architecture page names every package, in the order in which they may import."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]


@pytest.mark.parametrize("package", ["crag", "ui"])
def test_the_page_names_every_package_in_the_order_of_imports(package: str) -> None:
    (contract,) = [each for each in CONTRACTS if each.get("containers") == [package]]
    level = {name: row for row, line in enumerate(contract["layers"]) for name in re.findall(r"\w+", line)}
    named = re.findall(
        rf"`{package}/(\w+)(?:\.py)?`", re.findall(r"^\| package \|.*?\n\n", PAGE, re.MULTILINE | re.DOTALL)[0]
    )
    assert [level[name] for name in named] == sorted(level[name] for name in named)
    present = {path.parent.name for path in (ROOT / package).glob("*/__init__.py")}
    present |= {path.stem for path in (ROOT / package).glob("*.py")} - {"__init__", "__main__"}
    assert set(named) == present == set(level) - {"__main__"}


def test_the_page_is_one_page() -> None:
    assert len(PAGE.splitlines()) <= 100
