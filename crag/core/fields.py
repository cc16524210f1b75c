"""How a setting is declared: once, with its range, default, unit and help. Forms, checks and docs are made from it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from crag.text.sentences import ends_as_sentence

_ORIGIN = re.compile(r"https?://[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?")
_DAYS = {"d": 1, "w": 7}


@dataclass(frozen=True, slots=True)
class Range:
    """The least and the most that a number may be, the step of its slider, and its unit."""

    least: float
    most: float
    step: float
    unit: str = ""


def setting(
    default: Any,
    label: str,
    within: Range | None = None,
    *,
    group: str = "",
    at_start: bool = False,
    **others: Any,
) -> Any:
    """A setting with what a form needs: label, range, group (the title of its class, if not given).

    Its help is its docstring. `at_start`: it is read at the start. `others` are options of pydantic's `Field`.
    """
    extra: dict[str, Any] = {"label": label, "group": group, "at_start": at_start}
    extra |= {"unit": within.unit, "step": within.step} if within else {"unit": "", "step": None}
    others |= {"ge": within.least, "le": within.most} if within else {}
    return Field(default=default, json_schema_extra=extra, **others)


def meta(model: type[BaseModel], name: str) -> dict[str, Any]:
    """What a form needs of one setting: label, help, group, unit, step, default, minimum and maximum (None if open).

    And whether it applies `at_start` alone.
    """
    field = model.model_fields[name]
    extra = field.json_schema_extra
    found: dict[str, Any] = dict(extra) if isinstance(extra, dict) else {}
    found["group"] = found["group"] or model.model_config.get("title")
    said = " ".join(str(field.description).split())
    found.update(help=f"{said} Applies from the next start." if found["at_start"] else said, default=field.default)
    found["minimum"] = next((m.ge for m in field.metadata if hasattr(m, "ge")), None)
    found["maximum"] = next((m.le for m in field.metadata if hasattr(m, "le")), None)
    return found


def first_problem(error: ValidationError) -> str:
    """The first problem as a sentence that names the setting."""
    problem = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in problem["loc"]) or "settings"
    ours = problem.get("ctx", {}).get("error") if problem["type"] == "value_error" else None
    said = str(ours or problem["msg"])
    return f"{where}: {said}" if ends_as_sentence(said) else f"{where}: {said}."


def origins_of(given: tuple[str, ...]) -> tuple[str, ...]:
    """Origins as they are compared. Raises ValueError naming one that is none."""
    plain = tuple(each.strip().lower().rstrip("/") for each in given)
    for each in plain:
        if not _ORIGIN.fullmatch(each):
            raise ValueError(f"{each[:80]} is no origin; one is https:// or http://, a host, and perhaps a port")
    return plain


def days_of(text: str) -> int:
    """How many days an age is, as 30d or 8w. Raises ValueError, saying what is wrong."""
    found = re.fullmatch(r"([0-9]{1,5})([dw])", text.strip())
    if not found:
        raise ValueError(f"{text!r} is no number of days or weeks, as 30d or 8w")
    return int(found[1]) * _DAYS[found[2]]
