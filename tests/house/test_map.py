"""The house: the map of the code names every room there is, in the order in which they may import."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.house.test_imports import CRAG, UI

ROOT = Path(__file__).resolve().parents[2]
MAP = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("package", "table"), [("crag", CRAG), ("ui", UI)])
def test_every_room_is_on_the_map_in_order(package: str, table: dict[str, set[str]]) -> None:
    rooms = [f"{package}/{room}" for room in table if (ROOT / package / room).is_dir()]
    (drawn,) = re.findall(r"^\| room \|.*?\n\n", MAP, flags=re.MULTILINE | re.DOTALL)
    assert re.findall(rf"`({package}/\w+)`", drawn) == rooms


def test_modules_beside_the_rooms_are_named() -> None:
    beside = {path.stem for path in (ROOT / "crag").glob("*.py")} - {"__init__", "__main__"}
    assert beside == set(re.findall(r"`crag/(\w+)\.py`", MAP))


def test_the_map_is_one_page() -> None:
    assert len(MAP.splitlines()) <= 100
