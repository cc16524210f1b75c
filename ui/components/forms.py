"""Forms made from settings: the declaration of a setting decides its widget, range, help and unit."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Literal, TypeVar

import streamlit as st
from pydantic import BaseModel

from crag.core.filters import Filter
from crag.core.settings import Settings, meta
from crag.core.strategies import Strategy
from crag.core.types import Action, Aggregation
from crag.export.html.safe_text import markdown

T = TypeVar("T")

_SLIDER_STEPS = {int: 100, float: 150}
"""A setting with this many steps is typed, not slid: a hand can't aim at one."""
_WORDS = 1_000
"""Where the slider of words kept ends."""

MORE = "More sliders"
"""The fold that holds all sliders but the two thresholds."""


def groups(*models: type[BaseModel]) -> dict[str, list[str]]:
    """The settings' names by group, both in the order of declaration."""
    found: dict[str, list[str]] = {}
    for model in models:
        for name in model.model_fields:
            found.setdefault(meta(model, name)["group"], []).append(name)
    return found


def label(model: type[BaseModel], name: str) -> str:
    return label_of(meta(model, name))


def label_of(about: typing.Mapping[str, Any]) -> str:
    """A setting's label, with its unit where the words don't say it."""
    name_it, unit = str(about["label"]), str(about["unit"])
    return f"{name_it} ({unit})" if unit and unit not in name_it.lower() else name_it


def field(
    model: type[BaseModel],
    name: str,
    value: Any,
    *,
    key: str,
    disabled: bool = False,
    options: typing.Sequence[Any] | None = None,
    note: str = "",
    most: int = 0,
) -> Any:
    """The widget of one setting, holding `value`; returns what it holds now. `options` narrows the choice.

    `most`: a number is slid up to this, or up to `value` where that is larger, however large it may be.
    """
    about, kind = meta(model, name), _kind(model, name)
    common: dict[str, Any] = {
        "label": label(model, name),
        "key": key,
        "help": markdown(f"{about['help']} {note}".strip()),
        "disabled": disabled,
    }
    if kind is bool:
        return st.toggle(value=value, **common)
    choices = list(options) if options is not None else _choices(kind)
    if choices:
        return st.selectbox(options=choices, index=choices.index(value), format_func=_word, **common)
    if kind is Filter:
        common |= {"accept_new_options": True, "placeholder": "date >= 2024"}
        return st.multiselect(options=value.lines, default=value.lines, **common)
    if kind is str:
        return st.text_input(value=value, placeholder="none", **common)
    if kind == tuple[str, ...]:
        typed = st.text_input(value=", ".join(value), placeholder="none", **common)
        return tuple(each.strip() for each in typed.split(",") if each.strip())
    if typing.get_origin(kind) is tuple:
        picked = st.pills(
            options=list(Action), default=list(value), selection_mode="multi", format_func=_word, **common
        )
        return tuple(action for action in Action if action in picked)
    if kind is Path:
        return st.text_input(value="" if value is None else str(value), placeholder="/path/to/folder", **common)
    number = float if kind is float else int
    low, high = about["minimum"], max(most, value) if most else about["maximum"]
    step = number(about["step"] or 1)
    bounds: dict[str, Any] = {"min_value": number(low), "max_value": number(high), "value": number(value), "step": step}
    if (high - low) / step >= _SLIDER_STEPS[number]:
        return st.number_input(format=_format(step) or "%d", **bounds, **common)
    return st.slider(format=_format(step), **bounds, **common)


def aggregation(own: Settings, value: Aggregation, *, key: str) -> Any:
    """The rule that makes one score of many, of those that fit to how the strategy grades."""
    rules = [rule for rule in Aggregation if (rule is Aggregation.JOINT) == (own.evaluator == "joint")]
    return field(Settings, "aggregation", value, key=f"{key}-rule", options=rules, disabled=len(rules) == 1)


def evidence(values: typing.Mapping[str, Any], *, key: str, across: int = 1) -> dict[str, Any]:
    """Sliders, `across` in a row, for what decides what is kept besides thresholds and strip filter."""
    shown = {"ambiguity_margin": 0, "strip_words": _WORDS}
    places = st.columns(across, gap="medium") if across > 1 else [st.container()]
    found = {}
    for number, (name, most) in enumerate(shown.items()):
        with places[number % across]:
            found[name] = field(Settings, name, values[name], key=f"{key}-{name}", most=most)
    return found


def one_of(
    label: str, titles: Mapping[T, str], key: str, default: T | None = None, *, chips: bool = False, **look: Any
) -> T:
    """One of these, side by side without the label: the first, or `default`, until another is chosen.

    It is kept between pages. `chips`: there may be many.
    """
    start = next(iter(titles)) if default is None else default
    draw_choice = st.pills if chips else st.segmented_control
    look = {"label_visibility": "collapsed", "persist_state": "session", **look}
    if key not in st.session_state:
        look["default"] = start
    found: T | None = draw_choice(label, list(titles), required=True, format_func=titles.__getitem__, key=key, **look)
    return start if found is None else found


def choice(label: str, titles: Mapping[T, str], key: str, **look: Any) -> T:
    """One of these, the first until another is chosen; kept between pages."""
    look = {"persist_state": "session", **look}
    found: T = st.selectbox(label, list(titles), format_func=titles.__getitem__, key=key, **look)
    return found


def strategy(label: str, known: Mapping[str, Strategy], chosen: str, key: str, **look: Any) -> str:
    """One of the strategies that are `known` by name, `chosen` until another is."""
    titles = {name: each.title for name, each in known.items()}
    if key not in st.session_state and chosen in titles:
        look["index"] = list(titles).index(chosen)
    return choice(label, titles, key, **look)


def _kind(model: type[BaseModel], name: str) -> Any:
    """The setting's type, without the None it may also be."""
    kind = model.model_fields[name].annotation
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        kind = next(part for part in typing.get_args(kind) if part is not type(None))
    return kind


def _choices(kind: Any) -> list[Any]:
    if typing.get_origin(kind) is Literal:
        return list(typing.get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return list(kind)
    return []


def _word(value: Any) -> str:
    return str(value.value if isinstance(value, Enum) else value) or "none"


def _format(step: float) -> str | None:
    if not isinstance(step, float):
        return None
    return "%.2f" if step < 1 else "%.0f"
