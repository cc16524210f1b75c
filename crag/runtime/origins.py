"""The callers that a server answers, by the Host and Origin of a request alone.

A page of another site, which a browser of this machine shows, must not speak to a server, either openly (its Origin) or
under a name of its own that leads here (its Host: DNS rebinding). No name is looked up.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit

_NEIGHBOURS = ("localhost", "127.0.0.1", "0.0.0.0")  # noqa: S104  names in an address bar, not a place to listen


class Foreign(StrEnum):
    """Why a request is refused."""

    HOST = "This server answers to names of this machine only, such as localhost."
    PAGE = "Pages of other sites may not use this server."
    NETWORK = "This server was set to serve this machine only."


@dataclass(frozen=True, slots=True, kw_only=True)
class Origins:
    """`local`: the server listens to this machine alone. `proxied`: others come to it all the same. `hosts` and
    `origins`: names that are answered besides. `any_origin`: pages of all sites may use it. `neighbours`: so may pages
    of this machine at other ports, where the server is local.
    """

    local: bool = True
    proxied: bool = False
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    any_origin: bool = False
    neighbours: bool = False

    def refuse(self, hosts: Sequence[str], origins: Sequence[str], address: str = "") -> Foreign | None:
        """Why a request with these headers that came in at this address of ours is refused; None where it is not."""
        host = hosts[0] if hosts else ""
        if self.local and not self.proxied:
            if _is_ip(address) and not is_loopback(address):
                return Foreign.NETWORK
            # A request without a Host is of no browser, so no page has led it here.
            if host and not (_is_here(host) or _is_listed(_name(host), self.hosts)):
                return Foreign.HOST
        if len(hosts) > 1 or len(origins) > 1:
            return Foreign.PAGE
        welcome = self.any_origin or all(self._welcomes(origin, host) for origin in origins)
        return None if welcome else Foreign.PAGE

    def _welcomes(self, origin: str, host: str) -> bool:
        try:
            parts = urlsplit(origin.strip().lower())
        except ValueError:
            return False
        if parts.netloc and parts.netloc == host.lower():
            return True
        plain = f"{parts.scheme}://{parts.netloc}"
        if parts.hostname and any(given in (plain, parts.netloc, parts.hostname) for given in self.origins):
            return True
        return self.neighbours and self.local and _is_here(host) and parts.hostname in _NEIGHBOURS


def is_loopback(name: str) -> bool:
    """Whether a host's name or number, without port, can only mean this machine."""
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        number = ipaddress.ip_address(name)
    except ValueError:
        return False
    return (getattr(number, "ipv4_mapped", None) or number).is_loopback


def _is_here(host: str) -> bool:
    """Whether a Host header names this machine; the numbers that mean every address of a machine do, too."""
    return is_loopback(name := _name(host)) or name in ("0.0.0.0", "::")  # noqa: S104


def _is_ip(address: str) -> bool:
    try:
        return bool(ipaddress.ip_address(address))
    except ValueError:
        return False


def _name(host: str) -> str:
    """The host without its port, in lower case; "" where it is no host."""
    try:
        parts = urlsplit(f"//{host}")
        whole = parts.netloc == host and parts.username is None and (parts.port or 0) >= 0
        return (parts.hostname or "").rstrip(".") if whole else ""
    except ValueError:
        return ""


def _is_listed(name: str, patterns: Sequence[str]) -> bool:
    """Whether a pattern allows the name: a name, *.name, or * for all."""
    return any(
        pattern in ("*", name) or (pattern.startswith("*.") and name.endswith(pattern[1:]))
        for pattern in patterns
        if name
    )
