"""The Settings page's status, questions and program: forms made from the declarations of settings."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import streamlit as st

from crag.core.config import SETTINGS, AppConfig
from crag.core.errors import CragError
from crag.core.settings import Settings, meta
from crag.export.html import words
from crag.export.html.safe_text import markdown
from ui.access import allowed_choices, oidc
from ui.access.allowed_choices import overridden
from ui.app import clicks, system_keyring, tab
from ui.app.program import program, providers
from ui.app.session import Session
from ui.components import forms, problems
from ui.settings.state import state

_STATES = {True: ":material/check_circle: on", False: ":material/do_not_disturb_on: off"}
_ELSEWHERE = ("providers", "prices", "database", "quotas")
"""Groups of settings that have a tab of their own, or that hold a password and are shown nowhere."""


def status(session: Session, without: Collection[str] = ()) -> None:
    """Each provider of this session: on or off, and why; not those `without` that are on. Raises CragError."""
    rows = [
        {"State": f"{_STATES[on]} **{markdown(name)}**", "What": markdown(detail)}
        for name, on, detail in providers(session.config_to_ask, session.keys)
        if not (on and name in without)
    ]
    st.table(rows, border="horizontal", hide_index=True, hide_header=True, width="content", alt="What answers")


def lasting(session: Session) -> None:
    """Which choice holds for how long, what of it failed, and the way back to none."""
    if not session.saves:
        st.caption(
            "**Models** and **Questions** hold for this browser session, until the page is reloaded or closed; others "
            "see nothing of them, nor of your keys. **Costs** and **Program** apply to everyone."
        )
        return
    keys = (
        "are saved in the system's keyring" if system_keyring.usable() else "hold until the page is reloaded or closed"
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            "**Models**, **Questions**, **Costs** and **Program** are saved on this machine for the next "
            f"start. Keys {keys}.",
            width="content",
        )
        st.button("Forget saved choices", key="forget-choices", type="tertiary", on_click=_forget, args=(session,))
    if problem := tab.choices().saving_problem:
        st.warning(markdown(problem))


def _forget(session: Session) -> None:
    changed = list(tab.choices().changes)
    try:
        session.forget_choices()
    except CragError as error:
        state().problems["models"] = error
    session.switch(session.strategy)
    for name in changed:
        state().turns[name] += 1


def strategy(session: Session) -> None:
    """The settings of a strategy, to be looked at and changed, and the choice of the one that questions use."""
    known, used = session.strategies, session.strategy
    names = list(known)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox(
            "Strategy",
            names,
            index=names.index(used),
            format_func=lambda name: known[name].title + (" (in use)" if name == used else ""),
            key="settings-strategy",
        )
        clicks.button("Use this strategy", "settings-use", session.switch, chosen, disabled=chosen == used)
    now_used = (
        "**In use**: it handles your next questions."
        if chosen == used
        else (f"**Not in use**: your next questions are handled by {markdown(known[used].title)}.")
    )
    st.caption(f"{now_used} {words.about(known[chosen], {})}")
    turn = state().turns[chosen]
    now, own = session.settings(chosen), known[chosen].settings
    values: dict[str, Any] = {}
    for group, fields in forms.groups(Settings).items():
        st.header(group.capitalize(), anchor=False)
        for name, place in _places(fields, 3):
            with place:
                values[name] = forms.field(
                    Settings,
                    name,
                    getattr(now, name),
                    key=f"set-{chosen}-{turn}-{name}",
                    note=f"The strategy's own: {words.value_text(getattr(own, name))}.",
                )
    try:
        session.change(chosen, now.changed(**values))
    except CragError as error:
        problems.show(error)
        st.caption("The next question uses the last valid settings.")
    changed = session.changes(chosen)
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button("Reset to defaults", key="reset", disabled=not changed):
            session.reset(chosen)
            state().turns[chosen] += 1
            st.rerun()
        st.caption(f"{words.count(len(changed), 'setting')} changed." if changed else "Nothing has been changed.")


def _places(names: list[str], across: int) -> Iterator[tuple[str, Any]]:
    """A cell for each setting, row by row, so that one column reads in the same order as several."""
    for first in range(0, len(names), across):
        yield from zip(names[first : first + across], st.columns(across, gap="large"), strict=False)


def program_form(session: Session) -> None:
    """What the process is given: stored with the libraries, unless the environment says otherwise. Raises CragError."""
    config = program().config
    shared = not session.may("administer")
    if program().notice:
        st.warning(markdown(program().notice))
    if shared:
        st.caption(
            "These apply to everyone who uses CRAG Explorer, so only an admin sets them."
            if oidc.on()
            else "These apply to everyone who uses CRAG Explorer. Your administrator sets each with an environment "
            "variable: CRAG_ and its name."
        )
    with st.form("program_form", border=False):
        values: dict[str, Any] = {}
        for group, fields in _program_groups(shared).items():
            st.header(group.capitalize(), anchor=False)
            for name, place in _places(fields, 2):
                with place:
                    fixed = shared or name == "data" or overridden(name)
                    values[name] = forms.field(
                        SETTINGS[name], name, config.get(name), key=f"program-{name}", disabled=fixed
                    )
                    if fixed and not shared:
                        st.caption(_why_fixed(name))
        saved = st.form_submit_button("Save", type="primary", disabled=shared)
    if saved and not shared:
        session.require("administer")
        before = program().config
        program().configure(session.visitor.name, **values)
        state().later = _later(before, program().config)
        st.rerun()
    later, state().later = state().later, None
    if later is not None:
        waits = f" {' and '.join(later)}: from the next start." if later else ""
        st.success(markdown(f"Saved and in use.{waits}"))


def _later(before: AppConfig, after: AppConfig) -> list[str]:
    """What was changed and is read at the start alone, by its label."""
    names = [name for name, kind in SETTINGS.items() if meta(kind, name)["at_start"]]
    return [forms.label(SETTINGS[name], name) for name in names if before.get(name) != after.get(name)]


def _program_groups(shared: bool) -> dict[str, list[str]]:
    """Where others may be visiting, where things lie on the server is not shown; who is admin, where people sign in."""
    left_out = (*_ELSEWHERE, *(() if oidc.on() and not shared else ("people",)))
    shown = {
        group: names
        for group, names in forms.groups(*dict.fromkeys(SETTINGS.values())).items()
        if group not in left_out
    }
    places = {"data", "milvus_uri"} if shared else set()
    return {group: [name for name in names if name not in places] for group, names in shown.items()}


def _why_fixed(name: str) -> str:
    there = f"Set it with the environment variable CRAG_{name.upper()}: the settings themselves are kept there."
    return allowed_choices.why_fixed(name) or there
