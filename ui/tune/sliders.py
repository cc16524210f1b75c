"""Where the sliders of the Tune page stand: started from a strategy, moved by hand or at once, kept between pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from crag.core.errors import SettingsError
from crag.core.settings import Settings
from ui.app.session import Session
from ui.components import forms
from ui.components.problems import show
from ui.components.tab_state import tab_state

CHOSEN = "tune-strategy"
"""The key of the widget that holds which strategy is tuned."""
_NAMES = ("lower", "upper", "aggregation", "k", "strip_filter", "ambiguity_margin", "strip_words")


@dataclass(slots=True)
class TuneState:
    """Where the sliders stand.

    `strategy`, `own`: from which the sliders started. `now`: their values by setting. `turn`: how often they were moved
    at once. `said`: what a button has just done, in Markdown.
    """

    strategy: str = ""
    own: Settings | None = None
    now: dict[str, Any] = field(default_factory=dict)
    turn: int = 0
    said: str = ""


def state() -> TuneState:
    """The tab's."""
    return tab_state(TuneState)


def strategy(session: Session) -> str:
    """The strategy whose settings the sliders change; the session's own until another is chosen."""
    help = "Every run is decided again under this strategy, with your changes to it and with the sliders."
    return forms.strategy("Strategy", session.strategies, session.strategy, CHOSEN, help=help)


def sliders(name: str, own: Settings) -> Settings:
    """The settings that lines and sliders stand at. `own`: what the session asks with, where they begin."""
    tune = _started(name, own)
    key, moved = f"tune-{tune.turn}", dict(tune.now)
    if own.evaluator == "none":
        moved = {"k": forms.field(Settings, "k", moved["k"], key=f"{key}-k")}
    else:
        more = st.expander(forms.MORE, key="tune-more", on_change="rerun")
        if more.open:
            with more:
                moved |= _more(own, moved, key)
    try:
        settings = own.changed(**moved)
    except SettingsError as error:
        show(error)
        return own
    tune.now = at(settings)
    return settings


def _more(own: Settings, values: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The sliders beside the thresholds. `values`: where they stood last."""
    moved = {"aggregation": forms.aggregation(own, values["aggregation"], key=key)}
    for name, widget in (("k", f"{key}-k"), ("strip_filter", f"{key}-floor")):
        moved[name] = forms.field(Settings, name, values[name], key=widget)
    return moved | forms.evidence(values, key=key)


def move(**values: Any) -> None:
    """Put sliders at these values; for callbacks."""
    tune = state()
    tune.now = {**tune.now, **values}
    tune.turn += 1


def offer(pair: str, settings: Settings, upper: float, lower: float) -> None:
    """A button that puts the sliders at this pair, which is called so."""
    st.button(
        f"Apply the {pair} pair",
        key=f"tune-{pair}",
        disabled=(settings.upper, settings.lower) == (upper, lower),
        on_click=move,
        kwargs={"upper": upper, "lower": lower},
        help="Moves the sliders there. Ask changes with “Use these”.",
    )


def at(settings: Settings) -> dict[str, Any]:
    """Where the sliders stand for these settings."""
    return {name: getattr(settings, name) for name in _NAMES}


def _started(name: str, own: Settings) -> TuneState:
    """What is remembered; started again where the strategy is another, or was changed elsewhere."""
    tune = state()
    if (tune.strategy, tune.own) != (name, own):
        now = at(own)
        if tune.now != now:
            tune.turn += 1
        tune.strategy, tune.own, tune.now = name, own, now
    return tune
