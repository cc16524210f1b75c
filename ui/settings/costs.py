"""The Costs tab of Settings: what outside calls took day by day, and the table of prices."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from crag.core.errors import SettingsError
from crag.core.runfacts import DaySpending
from crag.export.html import elements as h
from crag.export.html import words
from crag.export.html.elements import Html
from crag.export.html.safe_text import markdown
from crag.messages.providers import cost_text
from crag.providers.prices import PRICES, Price, Prices, Spent, format_prices, of_day, sum_spent, table
from crag.text.spreadsheets import guard_formula, unguard_formula
from ui.access import oidc
from ui.access.allowed_choices import overridden
from ui.app import tables
from ui.app.program import prices_in_use, program
from ui.app.session import Session
from ui.components import forms, problems
from ui.components.drawing import draw
from ui.settings.state import state

_PERIODS = (7, 30, 90)
_NAME, _IN, _OUT, _CALL = "Model", "In", "Out", "Per call"
_WIDTH = 720
"""Pixels of the table of prices, where the screen is as wide."""


def show(session: Session) -> None:
    """Spending of this library, then the prices behind it. Raises CragError."""
    _spending(session)
    st.header("Prices", anchor=False)
    _prices(session)


# Spending


def _spending(session: Session) -> None:
    st.header("Spending", anchor=False)
    period = forms.one_of("Period", {days: f"{days} days" for days in _PERIODS}, "costs-period", 30)
    rows = session.library.runs.spending(period)
    if not rows:
        draw(_empty(period))
        return
    prices = prices_in_use()
    days = [(row, of_day(row, prices)) for row in rows]
    draw(_totals(sum_spent(sums for _, sums in days)))
    tables.plain([_line(row, sums) for row, sums in days], "costs-days", "Spending by day and model", _COLUMNS)


def _empty(days: int) -> Html:
    why = "Set a language model or a web provider, then ask a question: its calls, tokens and cost are counted here."
    return h.div("cx")[
        h.p[f"No outside calls in the last {days} days: local models make none and cost nothing."], h.p("quiet")[why]
    ]


_COLUMNS: dict[str, Any] = {
    "Day": st.column_config.TextColumn("Day (UTC)"),
    "Calls": st.column_config.NumberColumn(format="localized"),
    "Failed": st.column_config.NumberColumn(format="localized"),
    "Tokens in": st.column_config.NumberColumn(format="localized"),
    "Tokens out": st.column_config.NumberColumn(format="localized"),
    "Seconds": st.column_config.NumberColumn(format="%.1f", help="Of all calls, including parallel ones."),
    "Cost": st.column_config.TextColumn(alignment="right"),
}


def _line(row: DaySpending, sums: Spent) -> dict[str, Any]:
    return {
        "Day": row.day,
        "Model": row.model or row.provider,
        "Cost": cost_text(sums),
        "Calls": sums.calls,
        "Failed": sums.failed,
        "Tokens in": sums.input_tokens if row.model else None,
        "Tokens out": sums.output_tokens if row.model else None,
        "Seconds": sums.seconds,
        "Provider": row.provider,
    }


def _totals(whole: Spent) -> Html:
    """The period in one line, and what its cost leaves out."""
    figures = [
        (cost_text(whole), ""),
        (
            f"{whole.calls:,}",
            ("call" if whole.calls == 1 else "calls") + (f", {whole.failed:,} failed" * (whole.failed > 0)),
        ),
        (f"{whole.input_tokens:,} → {whole.output_tokens:,}", "tokens in → out"),
    ]
    shown = [h.span[h.b[value], " ", label] for value, label in figures]
    notes = []
    if whole.unpriced:
        notes.append(f"{words.count(whole.unpriced, 'call')} of models without a price: add it below.")
    if whole.uncounted:
        notes.append(f"{words.count(whole.uncounted, 'call')} whose tokens the provider did not count.")
    left_out = h.p("small")["Not in the cost: ", " ".join(notes)] if notes else ""
    return h.div("cx spending")[h.div("figures")[shown], left_out]


# Prices


def _prices(session: Session) -> None:
    st.caption(
        "US dollars for a million tokens in and out, and for one call. Models of OpenAI that are not in the table cost "
        "what the package genai-prices lists. Add other models, and 0 for one on your own machine; with empty cells "
        "its cost is not known."
    )
    if state().was_saved("prices"):
        st.success("Saved. Past and future calls use these prices.")
    stored = _stored()
    why_fixed = _why_fixed(session)
    rows = [_row(name, price) for name, price in stored.items()]
    if why_fixed:
        st.caption(markdown(why_fixed))
        st.dataframe(
            rows, hide_index=True, column_config=_PRICE_COLUMNS, key="prices-fixed", width=_WIDTH, placeholder="–"
        )
        return
    turn = state().turns["prices"]
    found = st.data_editor(
        rows,
        hide_index=True,
        num_rows="dynamic",
        column_config=_PRICE_COLUMNS,
        key=f"prices-{turn}",
        width=_WIDTH,
        height=420,
        placeholder="–",
    )
    said = st.container()
    with st.container(horizontal=True):
        save = st.button("Save prices", key="prices-save", type="primary")
        back = st.button("Reset prices", key="prices-back", disabled=not program().config.providers.prices)
    if save or back:
        with said, problems.reported():
            session.require("administer")
            _keep(session, () if back else format_prices(edited(found)))


def _dollars(help: str) -> Any:
    return st.column_config.NumberColumn(format="$%g", min_value=0, help=help)


_PRICE_COLUMNS: dict[str, Any] = {
    _NAME: st.column_config.TextColumn(
        "Model or provider",
        help="The model as its server names it, or the web provider. An apostrophe in front of @ or = is no part of "
        "the name: it keeps a spreadsheet from running it.",
        max_chars=200,
        width="medium",
    ),
    _IN: _dollars("A million tokens in."),
    _OUT: _dollars("A million tokens out."),
    _CALL: _dollars("Each call, whatever its size."),
}


def _row(name: str, price: Price | None) -> dict[str, Any]:
    """A price's cells, the name guarded: what costs nothing is left empty, unless all of it does."""
    numbers = (price.input, price.output, price.call) if price is not None else (None, None, None)
    shown = [number or None for number in numbers] if any(numbers) else numbers
    return dict(zip((_NAME, _IN, _OUT, _CALL), (guard_formula(name), *shown), strict=True))


def _stored() -> Prices:
    """The prices to show; where the stored ones can't be read this is said, and those of the providers are shown."""
    try:
        return table(program().config.providers.prices)
    except SettingsError as error:
        problems.show(error)
        return PRICES


def _why_fixed(session: Session) -> str:
    """Why prices can't be changed here; nothing where they can."""
    if overridden("prices"):
        return "Set by the environment variable CRAG_PRICES; change them there."
    if oidc.on() and not session.may("administer"):
        return "These apply to everyone who uses CRAG Explorer, so only an admin sets them."
    if not session.may("administer"):
        return "These apply to everyone who uses CRAG Explorer. Your administrator sets them with CRAG_PRICES."
    return ""


def _keep(session: Session, entries: tuple[str, ...]) -> None:
    """Store these over those of the providers. Raises CragError, and then the rows stay as they are."""
    program().configure(session.visitor.name, prices=entries)
    state().turns["prices"] += 1
    state().saved.add("prices")
    st.rerun()


def _number(cell: Any) -> float | None:
    """What an empty cell holds is None or not a number, by the way it became empty."""
    return None if cell is None or math.isnan(cell) else float(cell)


def edited(rows: Sequence[Mapping[str, Any]]) -> dict[str, Price | None]:
    """The prices that the editor's rows say; empty rows are nothing, empty cells beside a price are 0.

    Raises SettingsError naming the row: no name, a name that is there twice, a number that is no price.
    """
    prices: dict[str, Price | None] = {}
    for place, row in enumerate(rows, 1):
        name = unguard_formula(str(row.get(_NAME) or "").strip())
        numbers = [_number(row.get(column)) for column in (_IN, _OUT, _CALL)]
        if not name and all(number is None for number in numbers):
            continue
        if not name:
            raise SettingsError(
                f"Row {place} of the prices names no model.", "Write the model's name, or delete the row."
            )
        if name in prices:
            raise SettingsError(f"{name} has two prices.", "Delete one of its rows.")
        try:
            known = any(number is not None for number in numbers)
            prices[name] = Price(*(number or 0.0 for number in numbers)) if known else None
        except SettingsError as error:
            raise SettingsError(f"{name}: {error.message}", error.remedy) from error
    return prices
