"""A small real PDF written by hand: one page of Helvetica a text."""

from tests.support.tiny_pdf import line, pdf

LIGHTHOUSE = (
    "The lighthouse of Veldt Point was built in 1871 from grey granite.\nIts keeper was Anna Marrow.",
    "The lamp burns rapeseed oil and is visible for nineteen nautical miles.\nIt was electrified in 1932.",
)
"""Two pages."""


def small_pdf(*pages: str, title: str = "", ballast: bytes = b"") -> bytes:
    """`title`: what the file says it is called. `ballast`: bytes in it that no page uses."""
    contents = [
        b"".join(line(60, 704 - 16 * row, text, 12) for row, text in enumerate(page.splitlines())) for page in pages
    ]
    info = b"<< /Title (%s) >>" % title.encode("ascii") if title else b""
    return pdf(contents, info=info, ballast=ballast)
