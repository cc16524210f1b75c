"""GET /: a plain page that tells a person what this server is, with nothing loaded from anywhere."""

from __future__ import annotations

import base64
import hashlib
from html import escape

from starlette.responses import HTMLResponse, Response

import crag
from crag.integrations.http.description import operations
from crag.integrations.http.serving import Call

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem;"
    "color-scheme:light dark}code,pre{font:14px/1.5 ui-monospace,monospace}pre{overflow-x:auto}"
    "td{padding:.2rem 1rem .2rem 0;vertical-align:top}"
)
_DIGEST = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_DIGEST}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

_CHAT = """curl ADDRESS/v1/chat/completions \\
  -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\
  -d '{"model": "crag", "messages": [{"role": "user", "content": "What does the report say of hiring?"}]}'"""


async def front(call: Call) -> Response:
    """The page: what there is, and a first request. It says nothing of any library."""
    known = operations()
    rows = [
        f"<tr><td><code>{each.method} {each.path}</code></td><td>{escape(known[each.endpoint].summary)}</td></tr>"
        for each in call.request.app.state.served
        if each.endpoint in known
    ]
    return HTMLResponse(
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>CRAG Explorer for programs</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body><main>'
        f"<h1>CRAG Explorer for programs</h1><p>Version {escape(crag.__version__)}. This server answers questions from "
        "documents, with every retrieval graded, corrected and cited. It speaks the protocol of OpenAI's clients: give "
        "them this address with <code>/v1</code> behind it, a token as the key, and <code>crag</code> as the model.</p>"
        f"<table>{''.join(rows)}</table><h2>A first question</h2><pre><code>{escape(_CHAT)}</code></pre>"
        '<p>All of it for programs: <a href="openapi.json">openapi.json</a></p></main></body></html>',
        headers={"content-security-policy": POLICY},
    )
