"""Widgets that hold one choice of the session each, and change it as soon as they are touched."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import streamlit as st

from crag.admin.audit import format_setting
from crag.core.config import SETTINGS
from crag.core.errors import CragError
from crag.core.settings import meta
from crag.export.html.safe_text import markdown
from crag.providers import registry
from crag.runtime.provider import Provider
from ui.access import allowed_choices
from ui.app import keys, system_keyring
from ui.app.session import Session
from ui.components import forms, problems
from ui.settings.state import state

_WORDS: dict[str, dict[str, str]] = {
    "llm": {"none": "None"},
    "writer": {"auto": "Automatic", "extractive": "Quoted sentences", "llm": "Language model"},
    "web": {"off": "Off"},
    "web_fallback": {"none": "Nothing else"},
}
"""What is chosen that is no provider."""
_ORIGINS = {
    "keyring": "Saved in the system's keyring.",
    "session": "Set for this session; gone when it ends.",
    "environment": "Set by the environment.",
    "secrets": "Set by Streamlit's secrets.",
}
_PLACES = {True: "Saved in the system's keyring", False: "Kept in memory for this browser session, never stored"}
"""Where a key is, by whether it is kept for the next start."""
_OF_ITS_OWN = {"llm": "llm_model", "llm_base_url": "llm_model", "rerank_base_url": "rerank_model"}
"""What names a server, and the model that is one of that server's own."""


def segments(session: Session, name: str, options: Iterable[str] | None = None) -> None:
    """The choice that a section is about, side by side; the section's title is its label."""
    held = _held(session, name) | {"label_visibility": "collapsed", "help": None, "wrap": True}
    st.segmented_control(options=_options(session, name, options), format_func=_word(name), required=True, **held)
    _fixed(name)


def select(session: Session, name: str, options: Iterable[str] | None = None) -> None:
    """A choice of a few, one shown."""
    st.selectbox(options=_options(session, name, options), format_func=_word(name), **_held(session, name))
    _fixed(name)


def switch(session: Session, name: str) -> None:
    st.toggle(**_held(session, name))
    _fixed(name)


def number(session: Session, name: str) -> None:
    about = meta(SETTINGS[name], name)
    st.number_input(min_value=about["minimum"], max_value=about["maximum"], step=about["step"], **_held(session, name))
    _fixed(name)


def text(session: Session, name: str, *, placeholder: str = "", options: list[str] | None = None) -> None:
    """Something typed; with `options`, something picked from them or typed."""
    if options is None:
        st.text_input(placeholder=placeholder, **_held(session, name))
    else:
        held = _held(session, name, key=f"models-{name}-listed", empty=None)
        value = _value(session, name)
        known = options if not value or value in options else [value, *options]
        st.selectbox(options=known, index=None, accept_new_options=True, placeholder=placeholder, **held)
    _fixed(name)


def address(session: Session, provider: Provider) -> None:
    """A server's address: typed, or one of those that may be used here."""
    name, only = provider.address, allowed_choices.addresses(session.own, shared=session.shared)
    if only is None or not provider.server:
        text(session, name, placeholder=provider.example)
        if not allowed_choices.readable(_value(session, name)):
            st.caption(markdown(f"That is not the address of a server. Write it as {provider.example}."))
        return
    value = _value(session, name)
    options = list(only) if not value or value in only else [value, *only]
    held = _held(session, name, key=f"models-{name}-allowed", empty=None)
    st.selectbox(options=options, index=None, placeholder="Choose a server", **held)
    _fixed(name)


def folder(session: Session, name: str) -> None:
    st.text_input(placeholder="/path/to/folder", **_held(session, name))
    _fixed(name)


def key(session: Session, slot: str, label: str, *, hint: str = "") -> None:
    """Takes a key and shows it never again, only that there is one and where it comes from."""
    whom, widget = keys.server(slot, session.config), f"models-key-{slot}"
    origin: str = keys.origin(slot, session.config, session.keys)
    keeps = session.saves and system_keyring.usable()
    if origin == "session" and session.keeps_key(slot):
        origin = "keyring"
    st.text_input(
        label,
        type="password",
        key=widget,
        placeholder="Type another to replace it" if origin else "",
        disabled=not whom,
        help=f"{_PLACES[keeps]}, for this server alone, and never shown again.",
        on_change=_took,
        args=(session, slot, widget),
    )
    problem = state().problems.pop(widget, None)
    if problem is not None:
        problems.show(problem)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        said = _ORIGINS[origin] if origin else hint or "No key is set."
        if origin == "session" and session.saves:
            said = f"{said} Set the variable {markdown(keys.variable(slot, session.config))} to keep it."
        st.caption(said, width="content")
        if origin in ("session", "keyring"):
            st.button("Forget", key=f"{widget}-forget", type="tertiary", on_click=_forget, args=(session, slot))


def _forget(session: Session, slot: str) -> None:
    try:
        session.forget_key(slot)
    except CragError as error:
        state().problems[f"models-key-{slot}"] = error
    session.note("key", f"{slot} forgotten", f"for {format_setting(keys.server(slot, session.config))}")


def _took(session: Session, slot: str, widget: str) -> None:
    """The widget gives up what was typed at once."""
    typed: str = st.session_state[widget]
    st.session_state[widget] = ""
    try:
        if typed.strip():
            session.keep_key(slot, typed)
            session.note("key", f"{slot} entered", f"for {format_setting(keys.server(slot, session.config))}")
    except CragError as error:
        state().problems[widget] = error


def _options(session: Session, name: str, options: Iterable[str] | None) -> list[str]:
    """Those there are, and the one that is chosen even if it is none of them."""
    found = options if options is not None else registry.choices(name)
    return list(dict.fromkeys((*found, session.config.get(name))))


def _word(name: str) -> Callable[[str], str]:
    known = registry.providers(name)
    return lambda value: known[value].title if value in known else _WORDS.get(name, {}).get(value, value)


def _fixed(name: str) -> None:
    if why := allowed_choices.why_fixed(name):
        st.caption(markdown(why))


def _held(session: Session, name: str, *, key: str = "", empty: Any = "") -> dict[str, Any]:
    """What all these widgets share. The widget shows what the session's configuration says."""
    key = key or f"models-{name}"
    value = _value(session, name)
    shown = str(value or "") if name == "web_folder" else value
    shown = empty if shown == "" else shown
    if key not in st.session_state or st.session_state[key] != shown:
        st.session_state[key] = shown
    return {
        "label": forms.label_of(registry.about(name)),
        "key": key,
        "help": markdown(registry.about(name)["help"]),
        "disabled": not allowed_choices.free(name, shared=session.shared),
        "on_change": _chosen,
        "args": (session, name, key, empty),
    }


def _value(session: Session, name: str) -> Any:
    """What a widget shows: what is in use, or what was typed as an address and is none, to be corrected."""
    typed = session.choices.get(name)
    wrong = allowed_choices.holds_address(name) and isinstance(typed, str) and not allowed_choices.readable(typed)
    return typed if wrong else session.config.get(name)


def _chosen(session: Session, name: str, key: str, empty: Any) -> None:
    value = st.session_state[key]
    if value is None and empty is not None:
        return  # a browser that lost what one of these must show is told it again
    if name == "web_folder":
        value = Path(value.strip()) if value.strip() else None
    elif value is None or isinstance(value, str):
        value = (value or "").strip()
    use(session, name, value)


def use(session: Session, name: str, value: Any) -> None:
    """Choose this. With another server goes the name of the model that the last one had."""
    values = {name: value}
    model = _OF_ITS_OWN.get(name)
    if model and value != session.config.get(name):
        values[model] = session.own.get(model) if value == session.own.get(name) else ""
    try:
        session.choose(**values)
    except CragError as error:
        state().problems["models"] = error
