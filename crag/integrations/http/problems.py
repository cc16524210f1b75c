"""What goes wrong, in the form that clients of OpenAI's protocol read: {"error": {message, type, code, param}}."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from crag.core.errors import (
    BusyError,
    CancelledError,
    CragError,
    DocumentError,
    EmptyLibraryError,
    IndexUnavailableError,
    InputError,
    LimitError,
    ModelMismatchError,
    NotFoundError,
    ProviderError,
    QuotaError,
    RoomError,
)
from crag.runtime.transfer import BodyError

_log = logging.getLogger(__name__)

_KINDS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_ADD = "Add documents with POST /v1/documents."

_STATUSES: tuple[tuple[type[CragError], int, str, str | None], ...] = (
    (LimitError, 413, "too_large", "Split the document."),
    (DocumentError, 422, "unreadable_document", None),
    (InputError, 400, "invalid_input", None),
    (EmptyLibraryError, 422, "empty_library", _ADD),
    (ModelMismatchError, 422, "library_of_another_model", "The server's administrator has to re-index the library."),
    (NotFoundError, 404, "not_found", ""),
    (RoomError, 507, "no_room", "Delete documents that are no longer needed."),
    (IndexUnavailableError, 503, "index_unavailable", None),
    (CancelledError, 503, "stopped", "Ask again."),
    (BusyError, 503, "provider_busy", ""),
    (ProviderError, 502, "provider_failed", ""),
)
"""Of an error its status, its code and what the caller can do: None is the error's own remedy. The first that fits."""

_OF_ROUTES = {
    404: ("no_such_path", "There is nothing at this path."),
    405: ("other_method", "This path is asked with another method."),
}


class Problem(Exception):
    """A request that is refused. `code` is for programs, `param` the field of the body that is meant."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.param = status, code, message, param
        self.headers = dict(headers or {})

    @property
    def body(self) -> dict[str, Any]:
        """As clients read it; also an event of a stream that fails in the middle."""
        kind = _KINDS.get(self.status, "server_error" if self.status >= 500 else "invalid_request_error")
        said = self.message.encode("utf-8", "replace").decode()
        return {"error": {"message": said, "type": kind, "code": self.code, "param": self.param}}

    @property
    def response(self) -> Response:
        """The whole reply."""
        return JSONResponse(self.body, self.status, self.headers)


def problem_of(error: Exception) -> Problem:
    """The problem that a caller sees. Details that only the server's administrator can mend are logged, and left out
    here.

    Paths and addresses of this machine stand in the messages of storage and model errors.
    """
    match error:
        case Problem():
            return error
        case BodyError():
            headers = {"Connection": "close"}  # some of the body is unread
            again = {"Retry-After": "2"} if error.status == 429 else {}
            return Problem(error.status, error.code, str(error), headers={**headers, **again})
        case QuotaError():
            again = {"Retry-After": str(error.retry_after)}
            return Problem(429, "limit_reached", f"{error.message} {error.remedy}", headers=again)
        case CragError():
            for kind, status, code, remedy in _STATUSES:
                if isinstance(error, kind):
                    helps = error.remedy if remedy is None else remedy
                    return Problem(status, code, f"{error.message} {helps}".strip())
        case HTTPException():
            code, said = _OF_ROUTES.get(error.status_code, ("refused", "The request can't be answered."))
            return Problem(error.status_code, code, said, headers=error.headers)
    _log.error("a request failed: %s", error, exc_info=not isinstance(error, CragError))
    return Problem(500, "failed", "The server failed at this request. Its log says more.")


def problem_of_body(error: ValidationError) -> Problem:
    """What is wrong with a body: its first fault, with the name of the field; never what was sent there."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    if first["type"] == "json_invalid":
        return Problem(400, "invalid_json", f"The body is no JSON that can be read: {first['msg']}.")
    param = ".".join(str(part) for part in first["loc"] if not str(part).startswith("function-")) or None
    said = first["msg"].removeprefix("Value error, ").rstrip(".")
    where = f"{param[:100]}: " if param else ""
    return Problem(422, "invalid_field", f"{where}{said}.", param=param and param[:100])


async def problem_response(request: Request, error: Exception) -> Response:
    """The reply to a request that raised."""
    if isinstance(error, ClientDisconnect):
        return Response(status_code=400)  # nobody reads it
    return problem_of(error).response
