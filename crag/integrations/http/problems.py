"""What goes wrong with a request, as a reply.

Problems have the form that clients of OpenAI's protocol read: {"error": {message, type, code, param}}.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
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
from crag.runtime.slow_clients import RefusedError

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

_STATUS_OF = {"body": 422, "query": 400, "path": 404}
"""Of a field that can't be used, by where it stands in the request."""

_OF_ROUTES = {
    400: ("invalid_body", "The body can't be read."),
    404: ("no_such_path", "There is nothing at this path."),
    405: ("other_method", "This path is asked with another method."),
}


class Fault(BaseModel):
    """`code` is for programs; `param` the field of the request that is meant."""

    message: str
    type: str
    code: str
    param: str | None


class ProblemReply(BaseModel):
    """How every refusal and failure is reported, also as an event of a stream that fails in the middle."""

    error: Fault


class Problem(HTTPException):
    """A request that is refused. `code` is for programs, `param` the field of the request that is meant."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, message, dict(headers or {}))
        self.code, self.param = code, param

    @property
    def body(self) -> dict[str, Any]:
        """As clients read it; also an event of a stream that fails in the middle."""
        status = self.status_code
        kind = _KINDS.get(status, "server_error" if status >= 500 else "invalid_request_error")
        said = self.detail.encode("utf-8", "replace").decode()
        return ProblemReply(error=Fault(message=said, type=kind, code=self.code, param=self.param)).model_dump()


def problem_of(error: Exception) -> Problem:
    """The problem that a caller sees. Details that only the server's administrator can mend are logged, and left out
    here.

    Paths and addresses of this machine stand in the messages of storage and model errors.
    """
    match error:
        case Problem():
            return error
        case HTTPException(__cause__=ValidationError() | RefusedError() as cause):
            return problem_of(cause)  # FastAPI replaces what is raised while it reads a body
        case RequestValidationError() | ValidationError():
            return _problem_of_fields(error.errors()[0])
        case RefusedError():
            return Problem(error.status, error.code, str(error), headers=error.headers)
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


def _problem_of_fields(first: Mapping[str, Any]) -> Problem:
    """What is wrong with a request: its first fault, with the name of the field; never what was sent there."""
    if first["type"] == "json_invalid":
        return Problem(400, "invalid_json", f"The body is no JSON that can be read: {first['msg']}.")
    where, *names = first["loc"] if first["loc"] and first["loc"][0] in _STATUS_OF else ("body", *first["loc"])
    if where == "path":
        return Problem(404, "not_found", "There is nothing of this id in this library.")
    if not names and first["type"] == "missing":
        return Problem(400, "invalid_json", "The body is empty.")
    param = ".".join(str(part) for part in names if not str(part).startswith("function-"))[:100]
    said = first["msg"].removeprefix("Value error, ").rstrip(".")
    return Problem(
        _STATUS_OF[where], "invalid_field", f"{param}: {said}." if param else f"{said}.", param=param or None
    )


async def problem_response(request: Request, error: Exception) -> Response:
    """The reply to a request that raised."""
    if isinstance(error, ClientDisconnect):
        return Response(status_code=400)  # nobody reads it
    problem = problem_of(error)
    return JSONResponse(problem.body, problem.status_code, problem.headers)
