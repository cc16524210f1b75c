"""Limits in words: what is said where one is reached, and when it is free again."""

from __future__ import annotations

from datetime import datetime
from math import ceil

from crag.admin.quantities import QUANTITIES, Bound, Quantity, over_at
from crag.core.errors import CragError, DayLimitError, QuotaError, RoomError
from crag.messages.wording import count

__all__ = ["amount", "day_limit", "full", "nearly", "number", "soon", "too_many"]

_RAISE = "who runs this program can raise the limit in Settings, Limits"
_PER = {"minute": "this minute", "hour": "this hour", "day": "today"}
_UNITS = (("hour", 3600), ("minute", 60))


def number(quantity: Quantity, value: float) -> str:
    """So much, before "of 1,200 files": "7", "$3.50"."""
    return f"${value:,.2f}" if quantity.name == "dollars" else f"{value:,.0f}"


def amount(quantity: Quantity, value: float) -> str:
    """So much of it: "1,200 files", "$3.50", "12 MB"."""
    if quantity.name == "dollars":
        return number(quantity, value)
    if quantity.noun == "MB":
        return f"{value:,.0f} MB"
    return count(int(value), quantity.noun.removesuffix("s"))


def soon(seconds: float) -> str:
    """A time to come: "23 s", "4 minutes", "5 hours"."""
    for unit, length in _UNITS:
        if seconds > 1.5 * length:
            return count(ceil(seconds / length), unit)
    return f"{max(1, ceil(seconds))} s"


def too_many(what: str, bound: Bound, within: str, now: datetime, wanted: float = 1) -> CragError:
    """What is said where more is asked or added in a minute or an hour than may be."""
    quantity = QUANTITIES[what]
    wait = max(1, ceil((over_at(quantity.period, within) - now).total_seconds()))
    said = f"{amount(quantity, bound.most)} {'an' if quantity.period == 'hour' else 'a'} {quantity.period}"
    where = "this workspace" if bound.whose == "workspace" else "all workspaces here together"
    if wanted > bound.most:
        return RoomError(
            f"This file has {amount(quantity, wanted)}; {said} may be added to {where}.",
            f"Add a smaller one; {_RAISE}.",
        )
    if what == "questions":
        text = f"{where.capitalize()} may be asked {said}, and {_verb(bound)} asked as many."
        return QuotaError(text, f"Ask again in {soon(wait)}; {_RAISE}.", retry_after=wait)
    text = f"{said} may be added to {where}, and no more {_fit(bound, what)}."
    return QuotaError(text, f"Add the rest in {soon(wait)}; {_RAISE}.", retry_after=wait)


def full(what: str, bound: Bound, more: float = 1) -> RoomError:
    """What is said where a workspace, or all together, hold as much as they may."""
    quantity = QUANTITIES[what]
    own = bound.whose == "workspace"
    said = f"{'This workspace' if own else 'All workspaces here together'} may hold {amount(quantity, bound.most)}"
    has = f"and {'has' if own else 'have'} {bound.used:,.0f}"
    much = f"; {more:,.0f} more would be too many." if more > 1 else "."
    helps = "Delete what is no longer needed" if own else "Delete what is no longer needed, where that is yours"
    return RoomError(f"{said}, {has}{much}", f"{helps}; {_RAISE}.")


def day_limit(what: str, bound: Bound, within: str, now: datetime) -> DayLimitError:
    """What is said where a run may make no more outside calls today."""
    quantity = QUANTITIES[what]
    whose = "This workspace's" if bound.whose == "workspace" else "The whole server's"
    wait = (over_at("day", within) - now).total_seconds()
    return DayLimitError(
        f"{whose} limit of {amount(quantity, bound.most)} a day is reached.",
        f"It is free again in {soon(wait)}, at midnight UTC; {_RAISE}.",
    )


def _verb(bound: Bound) -> str:
    return "was" if bound.whose == "workspace" else "were"


def _fit(bound: Bound, what: str) -> str:
    return "are left" if what == "files" else "is left"


def nearly(quantity: Quantity, bound: Bound) -> str:
    """What is said where most of a limit is used."""
    whose = "" if bound.whose == "workspace" else " of all workspaces here"
    per = f" {_PER[quantity.period]}" if quantity.period else ""
    used = number(quantity, bound.used)
    if bound.left <= 0:
        return f"The limit{whose} is reached: {amount(quantity, bound.most)}{per}."
    return f"{used} of {amount(quantity, bound.most)}{whose} are used{per}."
