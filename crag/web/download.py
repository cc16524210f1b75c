"""What stands at a web address, for a document: fetched under the guard of web results, and only if it changed."""

from __future__ import annotations

import asyncio
import codecs
import threading
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import unquote, urldefrag, urlsplit

from crag.core.errors import CancelledError, CragError, GoneError, PageError, SignInError, UnreachableError
from crag.runtime.connection import BoundedClient, OversizedError
from crag.runtime.waiting import wait_for
from crag.text.encodings import decode_text
from crag.web.addresses import AddressError, Place, guarded_transport
from crag.web.fetching import AGENT, LATE, check_address, follow_redirects, reason_of

SECONDS = 30.0
"""For one page, from its first request to its last byte."""
MOST_ADDRESS = 2_000
_UNCHANGED, _GONE, _SIGN_IN = 304, (404, 410), (401, 403, 407)


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """What a server sent. `data` None: nothing changed since. `kind`: the media type that it claims, with parameters.

    `etag` and `last_modified` are what it tells a later change by; empty: nothing.
    """

    data: bytes | None
    kind: str
    etag: str
    last_modified: str

    def in_utf8(self) -> bytes:
        """The data of a text in UTF-8, with a mark where the text itself does not say so. Raises ValueError: no text.

        Which encoding it is may be said by the server alone.
        """
        assert self.data is not None
        text = decode_text(self.data, self.kind.encode("utf-8", "replace"))
        return self.data if text.encode() == self.data else codecs.BOM_UTF8 + text.encode()


def page_address(typed: str) -> str:
    """An address as it is kept, without its fragment. Raises PageError for one that no page of the web has."""
    address = urldefrag(typed.strip()).url
    try:
        if len(address) > MOST_ADDRESS or any(not character.isprintable() for character in address):
            raise ValueError
        check_address(address)
        urlsplit(address).port  # noqa: B018 - one that is none raises
    except (CragError, ValueError) as error:
        said = reason_of(error) if isinstance(error, CragError) else "it is no address"
        raise PageError(f"{typed.strip()[:80]} can't be added: {said}.", "Begin it with https:// or http://.") from None
    return address


def page_name(address: str) -> str:
    """What the page of an address is called where nobody gave it a name: host and path, as "example.org › help"."""
    parts = urlsplit(address)
    steps = [step for step in (*parts.path.split("/"), parts.query) if step]
    named = " › ".join([parts.netloc.removeprefix("www."), *map(unquote, steps)])
    return "".join(character for character in named if character.isprintable())


class Downloads:
    """Gets pages one at a time: never from this machine or its network, unless they are allowed or trusted."""

    def __init__(
        self,
        *,
        max_mb: int,
        allow_private: bool = False,
        trusted: Collection[Place] = (),
        seconds: float = SECONDS,
    ) -> None:
        """`max_mb`: of one page, unpacked. `trusted`: IP addresses and ports in this network, allowed all the same."""
        self._limit, self._seconds = max_mb * 1_000_000, seconds
        self._allow_private, self._trusted = allow_private, trusted

    def get(self, address: str, *, cancel: threading.Event, etag: str = "", last_modified: str = "") -> Download:
        """What stands at the address; of what `etag` or `last_modified` tell to be unchanged, no data.

        Raises GoneError, SignInError, other PageErrors for every other way not to get it, and CancelledError.
        """
        known = {"If-None-Match": etag, "If-Modified-Since": last_modified}
        asked = {name: value for name, value in known.items() if value}
        name = page_name(address)
        try:
            return wait_for(lambda: self._got(address, asked), seconds=self._seconds + 1, cancel=cancel)
        except PageError:
            raise
        except CancelledError as error:
            raise CancelledError(f"{name} was not fetched: it was stopped.") from error
        except AddressError as error:
            raise PageError(f"{name} was not fetched: {reason_of(error)}.", error.remedy) from error
        except UnreachableError as error:
            raise PageError(f"{name} was not fetched: {LATE}.") from error
        except Exception as error:  # whatever a hostile server breaks, it is said as one thing
            raise PageError(f"{name} was not fetched: {reason_of(error)}.") from error

    async def _got(self, address: str, asked: dict[str, str]) -> Download:
        async with BoundedClient(
            transport=guarded_transport(self._allow_private, self._trusted),
            headers={"User-Agent": AGENT, "Accept": "text/html, */*;q=0.8"},
            limit=self._limit,
            follow_redirects=False,
            timeout=self._seconds,
            trust_env=False,
        ) as client:
            return await asyncio.wait_for(self._answered(client, address, asked), self._seconds)

    async def _answered(self, client: BoundedClient, address: str, asked: dict[str, str]) -> Download:
        async with follow_redirects(client, address, asked) as response:
            status, name, headers = response.status_code, page_name(address), response.headers
            if status in _GONE:
                raise GoneError(f"There is no page {name}, its server says ({status}).")
            if status in _SIGN_IN:
                raise SignInError(f"{name} is shown only to those who sign in (the server said {status}).")
            if status != 200 and not (status == _UNCHANGED and asked):
                raise PageError(f"{name} was not fetched: the server said {status}.")
            declared = headers.get("content-length", "")
            if declared.isdigit() and int(declared) > self._limit:
                raise OversizedError(self._limit)
            return Download(
                data=None if status == _UNCHANGED else await response.aread(),
                kind=headers.get("content-type", ""),
                etag=_sendable(headers.get("etag", "")),
                last_modified=_sendable(headers.get("last-modified", "")),
            )


def _sendable(declared: str) -> str:
    """What a server said of itself, if it can be sent back to it."""
    return declared if declared.isascii() and declared.isprintable() and len(declared) <= MOST_ADDRESS else ""
