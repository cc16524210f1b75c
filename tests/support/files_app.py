"""A page with a picture and a file of its tab's own, behind the edge that users meet, for `test_offered_files.py`."""

import io
import time

import streamlit as st
from PIL import Image

from crag.core.errors import StorageError
from ui.access import current
from ui.app import open_tabs
from ui.app.program import program
from ui.components import downloads
from ui.run.pageview import inline
from ui.server import start


def picture(shade: int) -> bytes:
    """One grey pixel as PNG."""
    held = io.BytesIO()
    Image.new("L", (1, 1), shade).save(held, "PNG")
    return held.getvalue()


def slow(words: str) -> str:
    time.sleep(0.5)
    return words


def refused() -> str:
    raise StorageError("Too many files today.", "Try again tomorrow.")


if __name__ == "__main__":
    open_tabs.tabs.note()
    current.arrive(program())
    shade = st.query_params.get("shade", "1")
    if shade.isdecimal():
        st.image(inline(picture(int(shade))))
        st.image(picture(int(shade)), output_format="PNG")
        downloads.file("Take", lambda: slow(f"words of {shade}"), "wörds.txt", "text/plain", key="take")
        downloads.file("Never", refused, "never.txt", "text/plain", key="never")
else:
    app = st.App(__file__, **start.prepared())
