"""Who may speak to the server: decided from a request's Host and Origin alone, without asking anybody.

Streamlit's own decision ends in a look-up of this machine's outside address, at an outside service. It is never
reached by an origin that is refused here.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

_LOCAL_ORIGINS = ("localhost", "127.0.0.1", "0.0.0.0")  # noqa: S104  names in an address bar, not a place to listen
"""The pages of this machine that Streamlit lets in whatever their port."""

_HOST = (
    "This server answers to names of this machine only, such as localhost. Behind a proxy set CRAG_WORKSPACES=private, "
    "or name all hosts in STREAMLIT_SERVER_ALLOWED_HOSTS, blanks between them; then start again."
)
_ORIGIN = (
    "Pages of other sites may not use this server. Its owner can name theirs in STREAMLIT_SERVER_CORS_ALLOWED_ORIGINS."
)
_NETWORK = "This server was told to serve this machine only. To serve others, start it with --server.address."


@dataclass(frozen=True, slots=True, kw_only=True)
class Callers:
    """Facts of a start. `local`: the server listens to this machine alone. `proxied`: its owner has said that others
    come all the same. `hosts` and `origins`: those that the owner has named. `any_origin`: the owner lets all in.
    """

    local: bool = True
    proxied: bool = False
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    any_origin: bool = False

    def refusal(self, hosts: Sequence[str], origins: Sequence[str], address: str = "") -> str:
        """Why a request with these headers, come in at this address of ours, is refused; "" where it is not."""
        host = hosts[0] if hosts else ""
        if self.local and not self.proxied:
            if _is_ip(address) and not is_loopback(address):
                return _NETWORK
            # Whoever sends no Host is no browser, so no page has led it here.
            if host and not (is_loopback(_name(host)) or _listed(_name(host), self.hosts)):
                return _HOST
        if len(hosts) > 1 or len(origins) > 1:
            return _ORIGIN
        if self.any_origin or all(self._welcome(origin, host) for origin in origins):
            return ""
        return _ORIGIN

    def _welcome(self, origin: str, host: str) -> bool:
        try:
            parts = urlsplit(origin.strip().lower())
        except ValueError:
            return False
        if parts.netloc and parts.netloc == host.lower():
            return True
        plain = f"{parts.scheme}://{parts.netloc}"
        if any(given in (plain, parts.netloc, parts.hostname) for given in self.origins if parts.hostname):
            return True
        return self.local and is_loopback(_name(host)) and parts.hostname in _LOCAL_ORIGINS


def is_loopback(name: str) -> bool:
    """Whether a host's name or number, without port, can only mean this machine."""
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        number = ipaddress.ip_address(name)
    except ValueError:
        return False
    number = getattr(number, "ipv4_mapped", None) or number
    return number.is_loopback or number.is_unspecified


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


def _listed(name: str, patterns: Sequence[str]) -> bool:
    """By Streamlit's own rules: a name, *.name, or * for all."""
    return any(
        pattern in ("*", name) or (pattern.startswith("*.") and name.endswith(pattern[1:]))
        for pattern in patterns
        if name
    )
