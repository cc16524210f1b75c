"""What Tavily and DuckDuckGo send: replies shaped as the real ones are, for `web_server`."""

import json
from collections.abc import Sequence
from html import escape
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.support.web_server import Reply, Request

COMETS = [(f"https://example.org/{n}", f"Comet {n}", f"A comet came in {1900 + n}.") for n in range(1, 9)]
"""Address, title and text of each result."""


def query_of(request: Request) -> str:
    """The query that arrived, at whichever provider's server: `q` or `query` in the address, as JSON, or as a form."""
    if request.headers.get("Content-Type", "").startswith("application/json"):
        fields = json.loads(request.body)
    else:
        sent = urlsplit(request.path).query if request.method == "GET" else request.body.decode()
        fields = dict(parse_qsl(sent, keep_blank_values=True))
    return str(fields["q"] if "q" in fields else fields["query"])


def tavily(results: Sequence[Any], **more: Any) -> Reply:
    rows = [
        {"url": each[0], "title": each[1], "content": each[2], "score": 0.9} if isinstance(each, tuple) else each
        for each in results
    ]
    body = {"query": "", "follow_up_questions": None, "answer": None, "images": [], "results": rows, **more}
    return Reply(kind="application/json", body=json.dumps(body).encode())


def tavily_failure(status: int, detail: str = "no", **headers: str) -> Reply:
    body = json.dumps({"detail": {"error": detail}}).encode()
    return Reply(status=status, kind="application/json", body=body, headers=headers)


def duckduckgo(results: Sequence[tuple[str, str, str]], *, escaped: bool = True, status: int = 200) -> Reply:
    """The page of results; texts stand on it as they are unless `escaped`."""
    written = escape if escaped else str
    inner = "".join(_RESULT.format(url=written(u), title=written(t), text=written(x)) for u, t, x in results)
    return Reply(status=status, body=_PAGE.format(inner=inner).encode())


def duckduckgo_none() -> Reply:
    """The page that says there are no results."""
    return Reply(body=_PAGE.format(inner=_NONE).encode())


def duckduckgo_puzzle(status: int = 202) -> Reply:
    """The page for what is taken for a robot."""
    return Reply(status=status, body=_PUZZLE.encode())


_PAGE = """<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1.dtd">
<html xmlns="http://www.w3.org/1999/xhtml"><head><title>comet at DuckDuckGo</title></head>
<body class="body--html"><form action="/html/" method="post"><input name="q" type="text" value="comet"/></form>
<div class="serp__results"><div id="links" class="results">{inner}</div></div></body></html>"""

_RESULT = """<div class="result results_links results_links_deep web-result ">
<div class="links_main links_deep result__body">
  <h2 class="result__title"><a rel="nofollow" class="result__a" href="{url}">{title}</a></h2>
  <div class="result__extras"><div class="result__extras__url">
    <span class="result__icon"><a rel="nofollow" href="{url}"><img class="result__icon__img" alt="" src="//x.ico"/></a>
    </span> <a class="result__url" href="{url}">example.org</a></div></div>
  <a class="result__snippet" href="{url}">{text}</a>
  <div class="clear"></div>
</div></div>"""

_NONE = """<div class="result results_links results_links_deep result--no-result">
<div class="links_main links_deep result__body"><div class="no-results">No  results.</div></div></div>"""

_PUZZLE = """<!DOCTYPE html><html><head><title>DuckDuckGo</title></head><body>
<form id="challenge-form" action="//duckduckgo.com/anomaly.js?sv=html&amp;cc=botnet" method="POST">
<div class="anomaly-modal__mask"><div class="anomaly-modal__modal"><div class="anomaly-modal__title">Unfortunately,
bots use DuckDuckGo too.</div></div></div></form></body></html>"""
