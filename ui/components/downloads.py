"""Links that offer files: each file is made only when it is asked for, at an address that its tab alone knows."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote
from weakref import WeakValueDictionary

import streamlit as st

from crag.text.spreadsheets import csv_export, json_export
from ui.components.script_context import Tab
from ui.components.tab_state import ShownLibrary, tab_state

Table = tuple[Sequence[str], Iterable[Sequence[object]]]
"""Names of columns, and rows."""

PATH = "/files/{token}/{name}"
"""Where the server gives them out."""
_FORMATS = {"csv": ("text/csv", csv_export), "json": ("application/json", json_export)}
_MOST = 40
"""Files that a tab offers at once: those drawn last."""


@dataclass(slots=True, kw_only=True, weakref_slot=True)
class Offer:
    """A file that a tab offers: how it is made, its name and type, and the workspace that the tab showed."""

    token: str
    tab: Tab
    make: Callable[[], str | bytes]
    name: str
    mime: str
    workspace: str

    @property
    def address(self) -> str:
        """Below the server's own."""
        base = str(st.get_option("server.baseUrlPath")).strip("/")
        path = PATH.format(token=self.token, name=quote(self.name, safe=""))
        return f"/{base}{path}" if base else path


@dataclass(slots=True)
class OffersState:
    """The files that a tab offers, by key."""

    by_key: OrderedDict[str, Offer] = field(default_factory=OrderedDict)


_offers: WeakValueDictionary[str, Offer] = WeakValueDictionary()
"""By token, for as long as their session lives."""


def offer(token: str) -> Offer | None:
    """The file behind an address; None where its tab has gone."""
    return _offers.get(token)


def file(label: str, make: Callable[[], str | bytes], name: str, mime: str, *, key: str) -> None:
    """One link for one file. It is made at a click, outside of the script, and yet for who is in this tab then."""
    own = tab_state(OffersState).by_key
    token = own[key].token if key in own else secrets.token_urlsafe(24)  # a click may be older than this drawing
    workspace = tab_state(ShownLibrary).workspace or ""
    own[key] = _offers[token] = Offer(token=token, tab=Tab(), make=make, name=name, mime=mime, workspace=workspace)
    own.move_to_end(key)
    while len(own) > _MOST:
        own.popitem(last=False)
    st.link_button(label, own[key].address, key=key)


def table(label: str, make: Callable[[], Table], name: str, *, key: str) -> None:
    """A link for the CSV of a table and one for its JSON. `name`: of the files, without ending."""
    for ending, (mime, write) in _FORMATS.items():

        def written(write: Callable[..., bytes] = write) -> bytes:
            return write(*make())

        shown = f"{label}, {ending.upper()}" if label else ending.upper()
        file(shown, written, f"{name}.{ending}", mime, key=f"{key}-{ending}")
