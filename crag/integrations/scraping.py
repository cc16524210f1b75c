"""Who may read the metrics of a process: nobody, this machine alone, or who has the token."""

from __future__ import annotations

import hmac
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from crag.admin.access import digest_bearer, digest_token
from crag.analysis.monitoring.metrics import Metrics
from crag.runtime.origins import is_loopback

_log = logging.getLogger(__name__)

VARIABLE, FILE_VARIABLE = "CRAG_METRICS_TOKEN", "CRAG_METRICS_TOKEN_FILE"
SHORTEST = 16
"""Characters of a token; a shorter one could be guessed."""
_LED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
"""Headers by which a proxy says that it leads somebody here."""
_ALWAYS = {"cache-control": "no-store"}

Mode = Literal["off", "local", "token"]


class Scraping:
    """Answers requests for the metrics by one rule from start to end.

    off: nobody learns that there are any. local: who asks from this machine, where no others are led here (`alone`).
    token: anyone who sends it as "Authorization: Bearer …"; of it only a hash is kept. `refused` hears why each other
    request was refused.
    """

    def __init__(self, mode: Mode, token: str, alone: bool, refused: Callable[[str], None]) -> None:
        self._mode = mode
        self._token = digest_token(token) if len(token) >= SHORTEST else None
        self._alone, self._audit = alone, refused
        if mode == "token" and self._token is None:
            _log.warning("No metrics are served: %s needs %d characters or more.", VARIABLE, SHORTEST)
        if mode == "local" and not alone:
            _log.warning(
                "No metrics are served: others are led here, so CRAG_METRICS must be token, with %s.", VARIABLE
            )

    @property
    def on(self) -> bool:
        """Whether anybody may have them."""
        return (self._mode == "local" and self._alone) or (self._mode == "token" and self._token is not None)

    def reply(self, request: Request, metrics: Metrics | None) -> Response:
        """The metrics, or the refusal, which tells nothing of them."""
        if metrics is not None and self._may(request):
            body, form = metrics.text(", ".join(request.headers.getlist("accept")))
            return Response(body, headers={"content-type": form, **_ALWAYS})
        if metrics is not None:
            metrics.refused()
        self._audit("no token" if self._mode == "token" else f"metrics are {self._mode}")
        if self.on and self._mode == "token":
            return PlainTextResponse("Unauthorized\n", 401, {"www-authenticate": "Bearer", **_ALWAYS})
        return PlainTextResponse("Not Found\n", 404, _ALWAYS)

    def _may(self, request: Request) -> bool:
        if not self.on:
            return False
        if self._mode == "local":
            here = request.client is not None and is_loopback(request.client.host)
            return here and not any(name in request.headers for name in _LED)
        return hmac.compare_digest(digest_bearer(request.headers.getlist("authorization")), self._token or b"-")


def metrics_token() -> str:
    """What CRAG_METRICS_TOKEN holds, or the file that CRAG_METRICS_TOKEN_FILE names; "" where there is none."""
    given, file = os.environ.get(VARIABLE, ""), os.environ.get(FILE_VARIABLE, "")
    if given or not file:
        return given.strip()
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        _log.warning("The file that %s names can't be read: %s.", FILE_VARIABLE, type(error).__name__)
        return ""
