"""A small real PDF written by hand: one page of Helvetica a text."""

from __future__ import annotations

LIGHTHOUSE = (
    "The lighthouse of Veldt Point was built in 1871 from grey granite.\nIts keeper was Anna Marrow.",
    "The lamp burns rapeseed oil and is visible for nineteen nautical miles.\nIt was electrified in 1932.",
)
"""Two pages."""


def small_pdf(*pages: str, title: str = "", ballast: bytes = b"") -> bytes:
    """`title`: what the file says it is called. `ballast`: bytes in it that no page uses."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        shown = "".join(f"({line}) Tj T* " for line in text.splitlines())
        content = f"BT /F1 12 Tf 16 TL 60 720 Td {shown}ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    info = f" /Info {len(objects) + 1} 0 R" if title else ""
    bodies = [each.encode("ascii") for each in [*objects, *([f"<< /Title ({title}) >>"] if title else [])]]
    if ballast:
        bodies.append(b"<< /Length %d >>\nstream\n%b\nendstream" % (len(ballast), ballast))
    parts, places, at = [b"%PDF-1.4\n"], [], 9
    for number, body in enumerate(bodies, 1):
        places.append(at)
        parts.append(b"%d 0 obj\n%b\nendobj\n" % (number, body))
        at += len(parts[-1])
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    size = len(bodies) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<< /Size {size} /Root 1 0 R{info} >>\n"
    return b"".join([*parts, f"{end}startxref\n{at}\n%%EOF\n".encode("ascii")])
