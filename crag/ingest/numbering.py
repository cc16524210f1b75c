"""The numbers that Word sets before paragraphs: counted by their lists' own levels, as "3.", "2.1" or "(b)"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from crag.ingest.html import write_number

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_KINDS = {"lowerLetter": "a", "upperLetter": "A", "lowerRoman": "i", "upperRoman": "I"}
_SILENT = ("bullet", "none")
_PLACE = re.compile(r"%([1-9])")


@dataclass(frozen=True, slots=True)
class _Level:
    start: int
    kind: str
    text: str


class Numbering:
    """Counts a document's lists. `root` is the tree of its definitions, None where it has none."""

    def __init__(self, root: Any) -> None:
        self._levels: dict[str, dict[str, _Level]] = {}
        self._lists: dict[str, str] = {}
        self._restarts: dict[str, dict[str, int]] = {}
        self._counts: dict[str, dict[int, int]] = {}
        for each in root.iter(f"{_W}abstractNum") if root is not None else ():
            levels = {_attribute(level, "ilvl"): _level(level) for level in each.iter(f"{_W}lvl")}
            self._levels[_attribute(each, "abstractNumId")] = levels
        for each in root.iter(f"{_W}num") if root is not None else ():
            id, of = _attribute(each, "numId"), each.find(f"{_W}abstractNumId")
            self._lists[id] = _attribute(of, "val") if of is not None else ""
            self._restarts[id] = {
                _attribute(own, "ilvl"): _number(start)
                for own in each.iter(f"{_W}lvlOverride")
                for start in own.iter(f"{_W}startOverride")
            }

    def next(self, list_id: str, level: str) -> str:
        """What stands before the next paragraph of a list; "" for a bullet. Lists of one definition go on."""
        of = self._lists.get(list_id, "")
        levels, level = self._levels.get(of, {}), level or "0"
        if level not in levels:
            return ""
        counts, depth = self._counts.setdefault(of, {}), int(level)
        restart = self._restarts.get(list_id, {}).pop(level, None)
        counts[depth] = counts.get(depth, levels[level].start - 1) + 1 if restart is None else restart
        for deeper in [each for each in counts if each > depth]:
            del counts[deeper]
        if levels[level].kind in _SILENT:
            return ""

        def number(place: re.Match[str]) -> str:
            at = int(place[1]) - 1
            own = levels.get(str(at), levels[level])
            return write_number(counts.get(at, own.start), _KINDS.get(own.kind, "1"))

        return _PLACE.sub(number, levels[level].text).strip()


def _attribute(element: Any, name: str) -> str:
    return element.get(f"{_W}{name}") or ""


def _number(element: Any) -> int:
    said = _attribute(element, "val") if element is not None else ""
    return int(said) if said.isascii() and said.isdigit() and len(said) < 6 else 1


def _level(element: Any) -> _Level:
    kind, text = element.find(f"{_W}numFmt"), element.find(f"{_W}lvlText")
    return _Level(
        _number(element.find(f"{_W}start")),
        _attribute(kind, "val") if kind is not None else "decimal",
        _attribute(text, "val") if text is not None else "",
    )
