"""What a browser is shown for which there is no place just now: calm, with the reason, and trying again by itself."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import HTMLResponse
from starlette.types import Scope

from crag.export.html.elements import Html
from crag.text.formats import count
from ui.server.connection_limit import Full
from ui.server.headers import values

_ELSEWHERE = ("/_stcore/", "/static/", "/media/", "/files/", "/component/", "/auth/", "/oauth2callback")
"""Where no pages lie."""

# Its colours are the browser's own: the app's style sheet is for the app's pages alone.
_PAGE = Html("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="{again}">
<title>CRAG Explorer: full right now</title>
<style>
:root {{ color-scheme: light dark; font: 1rem/1.55 system-ui, sans-serif; }}
body {{ min-height: 90vh; display: grid; place-items: center; }}
main {{ max-width: 31rem; border: 1px solid GrayText; border-radius: 10px; padding: 1.6rem 1.8rem; }}
h1 {{ font-size: 1.25rem; margin-top: 0; }}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p>{said}</p>
<p role="status">This page tries again every {every}, and opens as soon as there is room.</p>
</main>
</body>
</html>
""")


def describe_limit(full: Full) -> str:
    """In one line, how many tabs are open and what helps."""
    tabs = count(full.open, "tab")
    if full.own:
        return f"CRAG Explorer is open in {tabs} of this browser, the most it may have. Close one."
    return f"CRAG Explorer is open in {tabs} at once, the most this server allows."


def waiting(full: Full) -> HTMLResponse:
    """The page: 503, with the seconds after which it is asked for again."""
    page = _PAGE.format(
        title="This browser has enough tabs open" if full.own else "The server is full right now",
        said=describe_limit(full),
        again=full.again,
        every=count(full.again, "second"),
    )
    return HTMLResponse(page, 503, refusing(full))


def refusing(full: Full) -> Mapping[str, str]:
    """The headers of every such answer."""
    return {"retry-after": str(full.again), "cache-control": "no-store", "connection": "close"}


def wants_page(scope: Scope, path: str) -> bool:
    """Whether a browser asks for one of the app's pages; `path`: below the app's own."""
    if scope["method"] != "GET" or path.startswith(_ELSEWHERE):
        return False
    return any("text/html" in said for said in values(scope, b"accept"))
