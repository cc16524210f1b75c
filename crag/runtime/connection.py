"""Connections to servers that nobody vouches for: of a reply only so much is read and unpacked, piece by piece."""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import AsyncIterator
from functools import cache
from typing import Any

import httpx

MAX_REPLY = 8_000_000
"""Bytes of a model's or a search's reply, unpacked: a hundred times what any of them has to say."""
PIECE = 16_384
"""Bytes that are handed on at once: between two pieces a call can be given up."""


class OversizedError(httpx.TransportError):
    """A reply of more bytes than there is room for."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(f"more than {limit // 1_000_000} MB")


class PackingError(httpx.TransportError):
    """A reply that is packed in a way that was not asked for."""


@cache
def certificates() -> ssl.SSLContext:
    """Who is trusted to say who a server is. Loaded but once: it takes as long as a short call."""
    return httpx.create_ssl_context()


class BoundedClient(httpx.AsyncClient):
    """httpx's client, which reads and unpacks whatever is sent, limited to a number of bytes.

    It asks for gzip alone, and unpacks that itself. Reading raises OversizedError, PackingError, zlib.error for what
    is damaged, httpx.ReadError for what breaks off.
    """

    def __init__(self, *, limit: int = MAX_REPLY, **options: Any) -> None:
        super().__init__(**{"verify": certificates(), **options})
        self._limit = limit

    async def send(self, request: httpx.Request, *, stream: bool = False, **options: Any) -> httpx.Response:
        request.headers["Accept-Encoding"] = "gzip"
        response = await super().send(request, stream=True, **options)
        try:
            packed = response.headers.pop("content-encoding", "identity").strip().lower()
            if packed not in ("identity", "gzip", "x-gzip", ""):
                raise PackingError(f"{response.url.host} packed its reply in a way that was not asked for")
            response.stream = _Bounded(response.stream, self._limit, "gzip" in packed)
            if not stream:
                await response.aread()
        except BaseException:
            await response.aclose()
            raise
        return response


class _Bounded(httpx.AsyncByteStream):
    """A reply unpacked and in small pieces, up to the limit."""

    def __init__(self, inner: Any, limit: int, packed: bool) -> None:
        self._inner, self._limit, self._packed = inner, limit, packed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._unpacked():
            size += len(piece)
            if size > self._limit:
                raise OversizedError(self._limit)
            yield piece
            # What is at hand already never waits: without this nothing could end the call before its last piece.
            await asyncio.sleep(0)

    async def _unpacked(self) -> AsyncIterator[bytes]:
        if not self._packed:
            async for part in self._inner:
                for place in range(0, len(part), PIECE):
                    yield part[place : place + PIECE]
            return
        unpacker, size = zlib.decompressobj(wbits=31), 0
        async for part in self._inner:
            size += len(part)
            if size > self._limit:  # of what unpacks to nothing there may be as much as one likes
                raise OversizedError(self._limit)
            while part:
                yield unpacker.decompress(part, PIECE)
                part = unpacker.unconsumed_tail
            if unpacker.eof:
                return
        raise httpx.ReadError("the packed reply broke off")

    async def aclose(self) -> None:
        await self._inner.aclose()
