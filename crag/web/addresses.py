"""Where a page may be fetched from: never from this machine, its network or a cloud's inner addresses (SSRF).

Checked when a connection is opened, on the very address that is connected to: a name can't show one address to the
check and another to the connection, and a redirect is a connection like any other.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Collection, Iterable

import httpcore
import httpx

from crag.core.errors import WebSearchError
from crag.runtime.connection import certificates

Place = tuple[str, int]
"""An IP address and a port."""


class AddressError(WebSearchError, remedy="If you trust it, allow private addresses in Settings."):
    """A page's address leads to this machine or its network."""


_GLOBAL = ipaddress.IPv6Network("2000::/3")
"""All that is routed of IPv6; the rest is local, or holds an IPv4 address in one of its old forms."""
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_DOCUMENTATION = ipaddress.IPv6Network("3fff::/20")
_INNER = (ipaddress.IPv4Network("192.0.0.0/24"), ipaddress.IPv4Network("168.63.129.16/32"))
"""Addresses that look public and are a cloud's inner services: Oracle's are in the first, the second is Azure's."""


def is_public(address: str) -> bool:
    """Whether an IP address is out on the internet: not private, loopback, link-local, multicast or reserved."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv4Address):
        return found.is_global and not found.is_multicast and not any(found in inner for inner in _INNER)
    inner = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
    if found in _NAT64:
        inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
    if inner is not None:
        return is_public(str(inner))
    return found.is_global and found in _GLOBAL and found not in _DOCUMENTATION


class _Guard(httpcore.AsyncNetworkBackend):
    """Opens connections to public addresses, and to `trusted` ones."""

    def __init__(self, trusted: Collection[Place]) -> None:
        self._inner, self._trusted = httpcore.AnyIOBackend(), frozenset(trusted)

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        addresses = await _resolve(host, port)
        # One inner address among several is enough to refuse: which is connected to would be chance.
        if not all(is_public(address) or (address, port) in self._trusted for address in addresses):
            raise AddressError(f"{host} is an address of this machine or its network")
        for address in addresses[:-1]:
            try:
                return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._inner.connect_tcp(addresses[-1], port, timeout, local_address, socket_options)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        raise AddressError("No page is fetched from a socket of this machine")

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)


async def _resolve(host: str, port: int) -> list[str]:
    """The host's IP addresses, at least one, in the order to try them. Raises httpcore.ConnectError."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpcore.ConnectError(f"{host} has no address") from error
    if not found:
        raise httpcore.ConnectError(f"{host} has no address")
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def guarded_transport(allow_private: bool, trusted: Collection[Place] = ()) -> httpx.AsyncHTTPTransport:
    """A transport for httpx that connects to public and to `trusted` addresses only; to all where `allow_private`."""
    transport = httpx.AsyncHTTPTransport(verify=certificates(), retries=0, trust_env=False)
    if not allow_private:
        # httpx has no parameter for it; the tests hold that this is what it connects through.
        transport._pool = httpcore.AsyncConnectionPool(ssl_context=certificates(), network_backend=_Guard(trusted))
    return transport
