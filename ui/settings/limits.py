"""The Limits tab of Settings: how much of each limit is used, and, for who runs the program, the limits themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from crag.admin import usage_store
from crag.admin.quotas import Standing
from crag.admin.usage_store import QUANTITIES, Bound
from crag.core.config import SETTINGS
from crag.core.errors import CragError
from crag.export.html.safe_text import markdown
from ui.app.clicks import requires
from ui.app.program import program
from ui.app.session import Session
from ui.components import forms, problems
from ui.settings.state import state

_PER = {"minute": "this minute", "hour": "this hour", "day": "today (UTC)", "": ""}
_NEAR = 0.8
"""The share of a limit from which on its bar warns."""
_EVERYONE = ""
"""Stands for the whole server."""


def show(session: Session) -> None:
    """What applies to this workspace, and how much of it is used. Raises CragError."""
    found = program().engine.teams.quotas.standing(session.workspace)
    st.subheader("This workspace", anchor=False)
    _bars([(each, each.own) for each in found])
    st.subheader("All workspaces together", anchor=False)
    if session.visitor.administers:
        _bars([(each, each.all) for each in found])
        _clock(session)
        st.subheader("Change limits", anchor=False)
        titles = {session.workspace: "This workspace", _EVERYONE: "All"}
        edit(session, forms.one_of("Limits of", titles, "limits-whose"))
    else:
        limited = [(each.quantity, each.all.most) for each in found if each.all.most]
        said = [f"{each.title}: {usage_store.amount(each, most)} {_PER[each.period]}".strip() for each, most in limited]
        st.markdown("\n".join(f"- {markdown(each)}" for each in said))
        st.caption("Your administrator sets these limits. Ask them if one is too low for what you do.")


def edit(session: Session, workspace: str) -> None:
    """The limits of one workspace, or with "" of the whole server and what workspaces begin with, to be changed.

    For who administers alone; others are shown nothing. Raises CragError.
    """
    if not session.visitor.administers:
        return
    quotas = program().engine.teams.quotas
    names = [each.own for each in QUANTITIES.values()]
    if workspace == _EVERYONE:
        names += [each.all for each in QUANTITIES.values()]
    changed = quotas.overrides.all()
    form = f"limits-{workspace}"
    turn = state().turns[form]
    seen = state().seen.setdefault(
        f"{form}-{turn}",
        {name: found.edition for (where, name), found in changed.items() if where == workspace},
    )
    said = (
        "The limits of each workspace that has none of its own, and those of all workspaces together."
        if workspace == _EVERYONE
        else "These apply to this workspace alone."
    )
    st.caption(f"{said} Set to 0 for no limit.")
    if state().was_saved(form):
        st.success("Saved. Applies to new runs and uploads.")
    if (problem := state().problems.pop(form, None)) is not None:
        problems.show(problem)
    keys = {name: f"limit-{workspace}-{turn}-{name}" for name in names}
    with st.form(f"limits-form-{workspace}", border=False):
        for first in range(0, len(names), 2):
            for name, place in zip(names[first : first + 2], st.columns(2, gap="large"), strict=False):
                found = changed.get((workspace, name))
                own = found is not None and found.value is not None
                with place:
                    forms.field(SETTINGS[name], name, quotas.most(name, workspace), key=keys[name])
                    if own and found is not None:
                        st.caption(markdown(f"Changed by {found.by}, {found.at[:10]}."))
        with st.container(horizontal=True):
            st.form_submit_button(
                "Save limits", type="primary", on_click=_save, args=(session, workspace, keys, dict(seen))
            )
            st.form_submit_button(
                "Restore the previous limits" if workspace else "Reset to the configuration",
                on_click=_back,
                args=(session, workspace, dict(seen)),
                disabled=not any(where == workspace and each.value is not None for (where, _), each in changed.items()),
            )


@requires("administer")
def _save(session: Session, workspace: str, keys: dict[str, str], seen: dict[str, int]) -> None:
    """Store what was changed on this page; what somebody else changed meanwhile is not overwritten."""
    quotas = program().engine.teams.quotas
    typed = {name: st.session_state.get(key) for name, key in keys.items()}
    wanted = {
        name: float(value)
        for name, value in typed.items()
        if value is not None and float(value) != quotas.most(name, workspace)
    }
    _change(session, workspace, wanted, seen)


@requires("administer")
def _back(session: Session, workspace: str, seen: dict[str, int]) -> None:
    """Every limit that was changed here is as it was set before."""
    changed = program().engine.teams.quotas.overrides.all()
    own = [name for (where, name), each in changed.items() if where == workspace and each.value is not None]
    _change(session, workspace, dict.fromkeys(own), seen)


def _change(session: Session, workspace: str, wanted: Any, seen: dict[str, int]) -> None:
    engine, who = program().engine, session.visitor.name
    form = f"limits-{workspace}"
    try:
        for name, value in wanted.items():
            before = engine.teams.quotas.most(name, workspace)
            engine.teams.quotas.change(workspace, name, value, seen=seen.get(name, 0), by=who)
            after = "as configured" if value is None else f"{value:g}"
            engine.teams.audit.note("limit", who, workspace=workspace, what=name, detail=f"{before:g} → {after}")
        if wanted:
            state().saved.add(form)
    except CragError as error:
        state().problems[form] = error
    state().turns[form] += 1  # the form starts again with what holds now


def _clock(session: Session) -> None:
    """Says where use is counted to a day that is not today, and offers to end that."""
    usage = program().engine.teams.quotas.usage
    day, today = usage.today(), usage.now().date()
    if day == today:
        return
    st.warning(
        f"The clock showed {day} before and shows {today} now. Until that day ends, calls and dollars count towards "
        "it, so setting the clock back gains nothing."
    )
    if st.button("The clock is right: start today", key="limits-day"):
        session.require("administer", "begin a day")
        usage.begin_day()
        st.rerun()


def _bars(rows: Sequence[tuple[Standing, Bound]]) -> None:
    """A bar for each limit, with its name and the numbers."""
    with st.container(horizontal=True, gap="medium"):
        for each, bound in rows:
            quantity = each.quantity
            used, most = usage_store.amount(quantity, bound.used), "no limit"
            if bound.most:
                used, most = usage_store.number(quantity, bound.used), usage_store.amount(quantity, bound.most)
            numbers = f"{used} of {most}" if bound.most else f"{used}, {most}"
            near = ":material/warning: " if bound.share >= _NEAR else ""
            said = f"{near}**{quantity.title}** {markdown(f'{numbers} {_PER[quantity.period]}')}"
            st.progress(min(1.0, bound.share), said, width=330)
