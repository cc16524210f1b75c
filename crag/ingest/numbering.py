"""The numbers that Word sets before paragraphs: counted by their lists' own levels, as "3.", "2.1" or "(b)"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from crag.ingest.html import write_number

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_KINDS = {"lowerLetter": "a", "upperLetter": "A", "lowerRoman": "i", "upperRoman": "I"}
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
        for each in root.iter(f"{W}abstractNum") if root is not None else ():
            levels = {_attribute(level, "ilvl"): _level(level) for level in each.iter(f"{W}lvl")}
            self._levels[_attribute(each, "abstractNumId")] = levels
        for each in root.iter(f"{W}num") if root is not None else ():
            id = _attribute(each, "numId")
            self._lists[id] = value(each, "abstractNumId")
            self._restarts[id] = {
                _attribute(own, "ilvl"): _number(start)
                for own in each.iter(f"{W}lvlOverride")
                if (start := value(own, "startOverride"))
            }

    def next(self, list_id: str, level: str) -> str:
        """What stands before the next paragraph of a list; "" for nothing. Lists of one definition go on."""
        of = self._lists.get(list_id, "")
        levels, level = self._levels.get(of, {}), level or "0"
        if level not in levels:
            return ""
        counts, depth = self._counts.setdefault(of, {}), int(level)
        restart = self._restarts.get(list_id, {}).pop(level, None)
        counts[depth] = counts.get(depth, levels[level].start - 1) + 1 if restart is None else restart
        for deeper in [each for each in counts if each > depth]:
            del counts[deeper]
        if levels[level].kind in ("bullet", "none"):
            return "•" if levels[level].kind == "bullet" else ""

        def number(place: re.Match[str]) -> str:
            at = int(place[1]) - 1
            own = levels.get(str(at), levels[level])
            return write_number(counts.get(at, own.start), _KINDS.get(own.kind, "1"))

        return _PLACE.sub(number, levels[level].text).strip()


def value(element: Any, name: str) -> str:
    """What the child of this name says; "" where there is none."""
    child = element.find(f"{W}{name}") if element is not None else None
    return _attribute(child, "val") if child is not None else ""


def _attribute(element: Any, name: str) -> str:
    return element.get(f"{W}{name}") or ""


def _number(said: str) -> int:
    return int(said) if said.isascii() and said.isdigit() and len(said) < 6 else 1


def _level(element: Any) -> _Level:
    return _Level(_number(value(element, "start")), value(element, "numFmt") or "decimal", value(element, "lvlText"))
