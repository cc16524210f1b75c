"""Where a page may be fetched from: never from this machine, its network or a cloud's inner addresses (SSRF).

Checked when a connection is opened, on the very address that is connected to: a name can't show one address to the
check and another to the connection, and a redirect is a connection like any other.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Iterable
from functools import cache

import httpcore
import httpx

from crag.core.errors import WebSearchError

__all__ = ["AddressError", "guarded_transport", "is_public"]


class AddressError(WebSearchError):
    """A page's address leads to this machine or its network."""

    default_remedy = "If you trust it, allow private addresses in Settings."


def is_public(address: str) -> bool:
    """Whether an IP address is out on the internet: not private, loopback, link-local, multicast or reserved."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
        if found in _NAT64:
            inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return found.is_global and not found.is_multicast


_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


class _Guard(httpcore.AsyncNetworkBackend):
    """Opens connections to public addresses only."""

    def __init__(self) -> None:
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise httpcore.ConnectError(f"{host} has no address") from error
        addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
        # One inner address among several is enough to refuse: which is connected to would be chance.
        if not addresses or not all(is_public(address) for address in addresses):
            raise AddressError(f"{host} is an address of this machine or its network; no page is fetched from there.")
        return await self._inner.connect_tcp(addresses[0], port, timeout, local_address, socket_options)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        raise AddressError("No page is fetched from a socket of this machine.")

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)


def guarded_transport(allow_private: bool) -> httpx.AsyncHTTPTransport:
    """A transport for httpx that connects to public addresses only, or to all where `allow_private`."""
    transport = httpx.AsyncHTTPTransport(verify=_context(), retries=0, trust_env=False)
    if not allow_private:
        # httpx has no parameter for it; the tests hold that this is what it connects through.
        transport._pool = httpcore.AsyncConnectionPool(ssl_context=_context(), network_backend=_Guard())
    return transport


@cache
def _context() -> ssl.SSLContext:
    return httpx.create_ssl_context()
