"""What a request brings: read up to a limit, with a time for standing still, and checked against its form."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.requests import Request

from crag.server.limits import Limits
from crag.server.problems import Problem, refused

B = TypeVar("B", bound="Body")
_AT_ONCE = 200_000
"""Bytes of JSON that are parsed at once; more are parsed in a thread, so that others need not wait."""


class Body(BaseModel):
    """What the body of a request may say. Fields of other makers' forms that mean nothing here are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, allow_inf_nan=False)


async def json_body(request: Request, limits: Limits, model: type[B]) -> B:
    """The body as the model has it. Raises Problem: 415 for what is not said to be JSON, 413 for too much of it,
    400 for what can't be parsed (nested too deeply, too), 422 for a field that is missing or of another type.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem(415, "not_json", "Send JSON, with the header Content-Type: application/json.")
    data = bytearray()
    async for piece in pieces(request, limits.json_bytes, limits):
        data += piece
    try:
        if len(data) > _AT_ONCE:
            return await asyncio.to_thread(model.model_validate_json, data)
        return model.model_validate_json(data)
    except ValidationError as error:
        raise refused(error) from error


async def pieces(request: Request, most: int, limits: Limits) -> AsyncGenerator[bytes, None]:
    """The body piece by piece. Raises Problem 413 where it has, or says that it has, more bytes than `most`; 408 where
    it stands still or takes too long.
    """
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Problem(415, "encoded", "Send the body as it is, without Content-Encoding.")
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > most:
        raise _too_large(most)
    stream, got, clock = request.stream(), 0, asyncio.get_running_loop().time
    until = clock() + limits.body_seconds
    while True:
        try:
            async with asyncio.timeout_at(min(until, clock() + limits.idle_seconds)):
                piece = await anext(stream, None)
        except TimeoutError as error:
            raise Problem(408, "slow", "The body did not come in time.", headers=_CLOSE) from error
        if piece is None:
            return
        got += len(piece)
        if got > most:
            raise _too_large(most)
        yield piece


_CLOSE = {"Connection": "close"}
"""Said with a refusal that leaves some of the body unread."""


def _too_large(most: int) -> Problem:
    return Problem(413, "too_large", f"The body is larger than {most / 1e6:,.0f} MB.", headers=_CLOSE)
