"""What every answer tells the browser: load from here alone, show in nobody's frame, tell other sites nothing."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import streamlit as st
from starlette.types import Scope

Header = tuple[bytes, bytes]

_POLICY = {
    "default-src": "'self'",
    # blob: Streamlit loads the script of a component from one; no markup can make one. No 'unsafe-eval', no inline.
    "script-src": "'self' blob:",
    # Streamlit and plotly write their styles into the page as they draw.
    "style-src": "'self' 'unsafe-inline'",
    "font-src": "'self' data:",
    "img-src": "'self' data: blob:",
    "frame-src": "'none'",
    "object-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'none'",
}

_OFF = (
    *("accelerometer", "autoplay", "camera", "display-capture", "geolocation", "gyroscope", "magnetometer"),
    *("microphone", "midi", "payment", "usb"),
)


INDEX = Path(st.__file__).parent / "static" / "index.html"
"""The page that Streamlit serves for every address; where it lies is not documented."""


def missing() -> str:
    """What of that page is no longer there, in a line for the log; "" for nothing."""
    return "" if INDEX.is_file() else "there is no static/index.html, whose scripts the browser has to let run"


def inline_scripts(page: Path = INDEX) -> tuple[str, ...]:
    """The scripts that stand in a page itself, each as the source that lets it, and no other, run."""
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    found = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)
    digests = (hashlib.sha256(each.encode()).digest() for each in found)
    return tuple(f"'sha256-{base64.b64encode(each).decode()}'" for each in digests)


def policy(framed_by: Sequence[str] = (), scripts: Sequence[str] = ()) -> str:
    """The Content-Security-Policy: `scripts` may run beside the app's own files, `framed_by` may frame the app."""
    headers = {**_POLICY, "frame-ancestors": " ".join(framed_by) or "'none'"}
    headers["script-src"] = " ".join((headers["script-src"], *scripts))
    return "; ".join(f"{name} {sources}" for name, sources in headers.items())


def security_headers(framed_by: Sequence[str] = (), scripts: Sequence[str] = ()) -> tuple[Header, ...]:
    """The headers of every answer. An address may hold the key to a library, so it is no site's referrer."""
    headers = {
        "content-security-policy": policy(framed_by, scripts),
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "permissions-policy": ", ".join(f"{each}=()" for each in _OFF),
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
    }
    if not framed_by:
        headers["x-frame-options"] = "DENY"
    return tuple((name.encode(), value.encode("latin-1")) for name, value in headers.items())


def with_headers(before: Iterable[Header], added: Sequence[Header]) -> list[Header]:
    """An answer's headers with ours in place of any of the same name."""
    names = {name for name, _ in added}
    return [*((name, value) for name, value in before if name.lower() not in names), *added]


def values(scope: Scope, name: bytes) -> list[str]:
    """All that a request says under a header's name, which is in lower case."""
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]
