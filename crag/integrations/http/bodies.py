"""What a request brings: read within limits of size and time, and checked against its form."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.requests import Request

from crag.integrations.http.limits import Limits
from crag.integrations.http.problems import Problem, problem_of_body
from crag.runtime.transfer import Pace, bound_body, too_large

B = TypeVar("B", bound="Body")
_AT_ONCE = 200_000
"""Bytes of JSON that are parsed at once; more are parsed in a thread, so that others need not wait."""


class Body(BaseModel):
    """What the body of a request may say. Fields of other makers' forms that mean nothing here are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, allow_inf_nan=False)


async def json_body(request: Request, limits: Limits, model: type[B], hold: Callable[[int], bool]) -> B:
    """The body as the model has it. Raises Problem: 415 for what is not said to be JSON, 400 for what can't be parsed
    (nested too deeply, too), 422 for a field that is missing or of another type. Raises BodyError as `pieces` does.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem(415, "not_json", "Send JSON, with the header Content-Type: application/json.")
    data = bytearray()
    async for piece in pieces(request, limits.json_bytes, limits.pace, hold):
        data += piece
    try:
        if len(data) > _AT_ONCE:
            return await asyncio.to_thread(model.model_validate_json, data)
        return model.model_validate_json(data)
    except ValidationError as error:
        raise problem_of_body(error) from error


async def pieces(request: Request, most: int, pace: Pace, hold: Callable[[int], bool]) -> AsyncGenerator[bytes, None]:
    """The body piece by piece, each counted by `hold`. Raises BodyError where it has, or says that it has, more bytes
    than `most`, where it comes too slowly, and where the caller may not have so many bytes here.
    """
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Problem(415, "encoded", "Send the body as it is, without Content-Encoding.")
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > most:
        raise too_large(most)
    async for piece in Request(request.scope, bound_body(request.receive, most, pace, hold)).stream():
        yield piece
