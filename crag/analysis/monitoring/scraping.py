"""Who may read the metrics, and the reply to each who asks: nobody, this machine alone, or who has the token."""

from __future__ import annotations

import hmac
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from crag.admin.access import digest_bearer, digest_token
from crag.analysis.monitoring.metrics import Metrics
from crag.runtime.origins import is_loopback

VARIABLE, FILE_VARIABLE = "CRAG_METRICS_TOKEN", "CRAG_METRICS_TOKEN_FILE"
SHORTEST = 16
"""Characters of a token; a shorter one could be guessed."""

_NOTED, _HOUR = 20, 3600.0
"""Refusals that are reported to the audit log in an hour: after so many an owner knows, and a stranger can't fill
it.
"""
_LED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
"""Headers by which a proxy says that it leads somebody here."""
_ALWAYS = {"cache-control": "no-store"}
_log = logging.getLogger(__name__)

Mode = Literal["off", "local", "token"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrape:
    """A request for the metrics: its headers by their names in small letters, and the address that it came from."""

    headers: Mapping[str, Sequence[str]]
    peer: str

    @classmethod
    def of(cls, headers: Iterable[tuple[bytes, bytes]], client: Sequence[Any] | None) -> Scrape:
        """The request that an ASGI server describes so."""
        found: dict[str, list[str]] = {}
        for name, value in headers:
            found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        return cls(headers=found, peer=str(client[0]) if client else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """Status, headers and body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Scraping:
    """Answers requests for the metrics by one rule from start to end.

    off: nobody learns that there are any. local: who asks from this machine, where no others are led here (`alone`).
    token: anyone who sends it as "Authorization: Bearer …"; of it only a hash is kept. `refused` hears of refusals, of
    twenty an hour at most. Thread-safe.
    """

    def __init__(self, mode: Mode, token: str, alone: bool, refused: Callable[[str], None]) -> None:
        self._mode = mode
        self._token = digest_token(token) if len(token) >= SHORTEST else None
        self._alone, self._audit = alone, refused
        self._lock = threading.Lock()
        self._noted, self._until = 0, 0.0
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

    def reply(self, asked: Scrape, metrics: Metrics | None) -> Reply:
        """The metrics, or the refusal, which tells nothing of them."""
        if metrics is not None and self._may(asked):
            body, form = metrics.text(", ".join(asked.headers.get("accept", ())))
            return Reply(status=200, headers={"content-type": form, **_ALWAYS}, body=body)
        if metrics is not None:
            metrics.refused()
        if self._one_more():
            self._audit("no token" if self._mode == "token" else f"metrics are {self._mode}")
        if self.on and self._mode == "token":
            return _plain(401, "Unauthorized", {"www-authenticate": "Bearer"})
        return _plain(404, "Not Found", {})

    def _may(self, asked: Scrape) -> bool:
        if not self.on:
            return False
        if self._mode == "local":
            return is_loopback(asked.peer) and not any(name in asked.headers for name in _LED)
        return hmac.compare_digest(digest_bearer(asked.headers.get("authorization", ())), self._token or b"-")

    def _one_more(self) -> bool:
        with self._lock:
            now = time.monotonic()
            if now >= self._until:
                self._noted, self._until = 0, now + _HOUR
            self._noted += 1
            return self._noted <= _NOTED


def metrics_token(environment: Mapping[str, str] | None = None) -> str:
    """What CRAG_METRICS_TOKEN holds, or the file that CRAG_METRICS_TOKEN_FILE names; "" where there is none."""
    source = os.environ if environment is None else environment
    file = source.get(FILE_VARIABLE, "")
    if source.get(VARIABLE) or not file:
        return source.get(VARIABLE, "").strip()
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        _log.warning("The file that %s names can't be read: %s.", FILE_VARIABLE, type(error).__name__)
        return ""


def _plain(status: int, line: str, more: Mapping[str, str]) -> Reply:
    headers = {"content-type": "text/plain; charset=utf-8", **_ALWAYS, **more}
    return Reply(status=status, headers=headers, body=f"{line}\n".encode())
