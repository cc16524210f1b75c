"""Foreign errors of model servers as ours. What a server writes is never passed on: some repeat the key they got."""

from __future__ import annotations

import logging
import zlib

import httpx
import openai

from crag.core.errors import (
    BusyError,
    CragError,
    KeyRejectedError,
    ProviderError,
    ReplyError,
    UnreachableError,
)
from crag.providers.endpoint import ThoughtOnlyError
from crag.runtime.connection import OversizedError, PackingError

log = logging.getLogger(__name__)

OTHER = "Choose another model or server in Settings."
_BENEATH = (openai.APIConnectionError, httpx.HTTPError, zlib.error, CragError)
"""What the clients wrap, each in its own: also ours, of a connection that speaks for its model."""


def translate_error(error: Exception, name: str) -> CragError:
    """The error as ours. Of what the server wrote, only its status and kind are used."""
    while isinstance(error, openai.APIConnectionError) and isinstance(error.__cause__, _BENEATH):
        error = error.__cause__
    match error:
        case CragError():
            return error
        case OversizedError():
            return ReplyError(f"sent more than {error.limit // 1_000_000} MB.", OTHER, who=name)
        case PackingError() | zlib.error():
            return ReplyError("sent a reply that can't be unpacked.", OTHER, who=name)
        case openai.AuthenticationError() | openai.PermissionDeniedError():
            return KeyRejectedError(f"does not accept the key (status {error.status_code}).", who=name)
        case openai.NotFoundError():
            return ProviderError(
                "is not there (status 404).", "Check the model's name and the server's address in Settings.", who=name
            )
        case openai.RateLimitError():
            return BusyError("allows no more requests at present (status 429).", who=name)
        case openai.BadRequestError() if _over_long(error):
            return ReplyError(
                "can't read so much text at once.", "Retrieve fewer chunks, or use another model.", who=name
            )
        case openai.LengthFinishReasonError():
            return ReplyError("did not finish its reply.", who=name)
        case ThoughtOnlyError():
            return ReplyError("thought until its limit and said nothing.", "Choose a model that thinks less.", who=name)
        case openai.ContentFilterFinishReasonError():
            return ReplyError("refused to reply.", who=name)
        case openai.APITimeoutError() | httpx.TimeoutException():
            return UnreachableError("did not reply in time.", who=name)
        case openai.APIStatusError() if error.status_code >= 500:
            return BusyError(f"failed (status {error.status_code}).", who=name)
        case openai.APIStatusError():
            return ProviderError(f"refused the request (status {error.status_code}).", who=name)
        case openai.APIConnectionError() | httpx.TransportError() | ConnectionError():
            return UnreachableError("can't be reached, or broke off.", who=name)
        case _:
            log.warning("an unexpected %s from %s", type(error).__name__, name)
            return ReplyError("gave a reply that can't be read.", who=name)


def _over_long(error: openai.APIStatusError) -> bool:
    said = str(error).lower()
    return "context" in said and any(word in said for word in ("length", "size", "window", "exceed", "maximum"))


def retry_after(error: BaseException) -> float:
    """The seconds that the server asks to wait, 0 where it names none."""
    headers = error.response.headers if isinstance(error, openai.APIStatusError) else {}
    try:
        return max(0.0, float(headers.get("retry-after", 0)))
    except ValueError:
        return 0.0
