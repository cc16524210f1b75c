"""A page with a picture and a download of its tab's own, behind the edge that users meet, for `test_media.py`."""

import struct
import zlib

import streamlit as st

from ui.access import workspaces
from ui.app.program import program
from ui.server import start


def picture(shade: int) -> bytes:
    """One grey pixel as PNG."""

    def part(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + part(b"IHDR", head)
        + part(b"IDAT", zlib.compress(bytes([0, shade])))
        + part(b"IEND", b"")
    )


if __name__ == "__main__":
    workspaces.open_workspace(program().engine)
    shade = st.query_params.get("shade", "1")
    st.image(picture(int(shade)), output_format="PNG")
    st.download_button("Take", lambda: f"words of {shade}", file_name="words.txt")
else:
    app = st.App(__file__, **start.prepared())
