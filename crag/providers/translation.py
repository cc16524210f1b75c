"""Foreign errors of model servers as ours. What a server writes is never passed on: some repeat the key they got."""

from __future__ import annotations

import logging
import zlib

import httpx
import openai

from crag.core.connection import OversizedError, PackingError
from crag.core.errors import (
    BusyError,
    CragError,
    KeyRejectedError,
    ProviderError,
    ReplyError,
    UnreachableError,
)
from crag.providers.replies import ThoughtOnlyError

__all__ = ["told_to_wait", "translated"]

log = logging.getLogger(__name__)

OTHER = "Choose another model or server in Settings."
_BENEATH = (openai.APIConnectionError, httpx.HTTPError, zlib.error)
"""What the clients wrap, each in its own."""


def translated(error: Exception, name: str) -> CragError:
    """The error as ours. Of what the server wrote, only its status and kind are used."""
    while isinstance(error, openai.APIConnectionError) and isinstance(error.__cause__, _BENEATH):
        error = error.__cause__
    match error:
        case CragError():
            return error
        case OversizedError():
            return ReplyError(f"{name} sent more than {error.limit // 1_000_000} MB.", OTHER)
        case PackingError() | zlib.error():
            return ReplyError(f"{name} sent a reply that can't be unpacked.", OTHER)
        case openai.AuthenticationError() | openai.PermissionDeniedError():
            return KeyRejectedError(f"{name} does not accept the key (status {error.status_code}).")
        case openai.NotFoundError():
            return ProviderError(
                f"{name} is not there (status 404).", "Check the model's name and the server's address in Settings."
            )
        case openai.RateLimitError():
            return BusyError(f"{name} allows no more requests at present (status 429).")
        case openai.BadRequestError() if _over_long(error):
            return ReplyError(
                f"{name} can't read so much text at once.", "Retrieve fewer chunks, or use another model."
            )
        case openai.LengthFinishReasonError():
            return ReplyError(f"{name} did not finish its reply.")
        case ThoughtOnlyError():
            return ReplyError(f"{name} thought until its limit and said nothing.", "Choose a model that thinks less.")
        case openai.ContentFilterFinishReasonError():
            return ReplyError(f"{name} refused to reply.")
        case openai.APITimeoutError() | httpx.TimeoutException():
            return UnreachableError(f"{name} did not reply in time.")
        case openai.APIStatusError() if error.status_code >= 500:
            return BusyError(f"{name} failed (status {error.status_code}).")
        case openai.APIStatusError():
            return ProviderError(f"{name} refused the request (status {error.status_code}).")
        case openai.APIConnectionError() | httpx.TransportError() | ConnectionError():
            return UnreachableError(f"{name} can't be reached, or broke off.")
        case _:
            log.warning("an unexpected %s from %s", type(error).__name__, name)
            return ReplyError(f"{name} gave a reply that can't be read.")


def _over_long(error: openai.APIStatusError) -> bool:
    said = str(error).lower()
    return "context" in said and any(word in said for word in ("length", "size", "window", "exceed", "maximum"))


def told_to_wait(error: BaseException) -> float:
    """The seconds that the server asks to wait, 0 where it names none."""
    headers = error.response.headers if isinstance(error, openai.APIStatusError) else {}
    try:
        return max(0.0, float(headers.get("retry-after", 0)))
    except ValueError:
        return 0.0
