"""Buttons that offer files: each is made only when it is asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import streamlit as st
from streamlit.runtime.scriptrunner import add_script_run_ctx, get_script_run_ctx

from crag.analysis.questions.adapters import csv_export, json_export

Table = tuple[Sequence[str], Iterable[Sequence[object]]]
"""Names of columns, and rows."""

_FORMATS = {"csv": ("text/csv", csv_export), "json": ("application/json", json_export)}


def file(label: str, make: Callable[[], str | bytes], name: str, mime: str, *, key: str) -> None:
    """One button for one file. It is made at a click, outside of the script, and yet for who is in this tab then."""
    tab = get_script_run_ctx()

    def made() -> str | bytes:
        with ThreadPoolExecutor(1, initializer=lambda: add_script_run_ctx(threading.current_thread(), tab)) as thread:
            return thread.submit(make).result()

    st.download_button(label, made, file_name=name, mime=mime, on_click="ignore", key=key)


def table(label: str, make: Callable[[], Table], name: str, *, key: str) -> None:
    """A button for the CSV of a table and one for its JSON. `name`: of the files, without ending."""
    for ending, (mime, write) in _FORMATS.items():

        def written(write: Callable[..., bytes] = write) -> bytes:
            return write(*make())

        shown = f"{label}, {ending.upper()}" if label else ending.upper()
        file(shown, written, f"{name}.{ending}", mime, key=f"{key}-{ending}")
