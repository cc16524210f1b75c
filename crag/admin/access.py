"""Who may use a server of this program: tokens, each for one workspace, or without any this machine alone."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from crag.core.errors import SettingsError
from crag.runtime.origins import Origins, is_loopback
from crag.runtime.slow_clients import RefusedError
from crag.storage.places import WORKSPACE_NAME

VARIABLE, FILE_VARIABLE = "CRAG_TOKENS", "CRAG_TOKENS_FILE"
_TOKEN = re.compile(r"[!-+\--~]+")
"""Printable ASCII but for the comma, which ends an entry."""
_FORM = "Write token=workspace, commas between; a workspace has 1 to 64 of the characters a to z, 0 to 9 and -."


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The sender of a request: its token's place among all, from 1 (0: no token is needed), and its workspace."""

    number: int
    workspace: str

    @property
    def name(self) -> str:
        """As the audit log has it."""
        return f"token {self.number}" if self.number else "program of this machine"


class Arrivals:
    """Has in the audit log which token came first, for whom keys were sent out first, and that others were refused.

    `note`: `AuditLog.note`. What it notes may wait for the disk.
    """

    def __init__(self, note: Callable[..., None]) -> None:
        self._note = note
        self._came: set[int] = set()
        self._keyed: set[int] = set()

    def news(self, caller: Caller | None) -> bool:
        """Whether `came` would have something to note."""
        return caller is None or (caller.number > 0 and caller.number not in self._came)

    def came(self, caller: Caller | None) -> None:
        """Somebody came with a token; None: with none that is known."""
        if caller is None:
            self._note("token", "visitor", what="a request without a token that is known", refused=True)
        elif self.news(caller):
            self._came.add(caller.number)
            self._note("token", caller.name, workspace=caller.workspace, what="used first since the start")

    def turned_away(self, why: str) -> None:
        """Somebody came from a page of another site, or under another name of this machine."""
        self._note("refused", "visitor", what="a request from elsewhere", detail=why, refused=True)

    def sends(self, caller: Caller, keys: Callable[[], Iterable[tuple[str, str]]]) -> None:
        """Something is asked that the owner's `keys` may be sent out for: the slot of each, and to which server."""
        if caller.number not in self._keyed:
            self._keyed.add(caller.number)
            for slot, server in keys():
                self._note("key", caller.name, workspace=caller.workspace, what=f"{slot} used", detail=f"for {server}")


class Access:
    """The tokens of a server with the workspace of each; without tokens, anyone who comes has the one workspace.

    Of a token only its SHA-256 is kept, so none is ever in a message, a log or a text form.
    """

    __slots__ = ("_alone", "_held")

    def __init__(self, tokens: Iterable[tuple[str, str]] = (), workspace: str = "default") -> None:
        """`tokens` are pairs of token and workspace. Raises SettingsError for a pair that can't be used."""
        held: dict[bytes, Caller] = {}
        for number, (token, name) in enumerate(tokens, start=1):
            if not _TOKEN.fullmatch(token) or not WORKSPACE_NAME.fullmatch(name):
                raise SettingsError(f"Entry {number} of the tokens is no token with the name of a workspace.", _FORM)
            known = held.setdefault(digest_token(token), Caller(number=number, workspace=name))
            if known.workspace != name:
                raise SettingsError(f"Entry {number} of the tokens gives a token a second workspace.", _FORM)
        if not WORKSPACE_NAME.fullmatch(workspace):
            raise SettingsError("That is no name for a workspace.", "Use 1 to 64 of a to z, 0 to 9 and -.")
        self._held, self._alone = held, Caller(number=0, workspace=workspace)

    @classmethod
    def from_environment(cls, workspace: str = "default", environment: Mapping[str, str] | None = None) -> Access:
        """The tokens of CRAG_TOKENS, and of the file that CRAG_TOKENS_FILE names: an entry a line, # before a remark.

        Raises SettingsError for an entry that can't be used, and a file that can't be read.
        """
        source = os.environ if environment is None else environment
        entries = source.get(VARIABLE, "").split(",")
        if source.get(FILE_VARIABLE):
            try:
                lines = Path(source[FILE_VARIABLE]).read_text(encoding="utf-8").splitlines()
            except (OSError, ValueError) as error:
                why = getattr(error, "strerror", None) or "it is no text"
                raise SettingsError(f"The file that {FILE_VARIABLE} names can't be read: {why}.") from error
            entries += [line for line in lines if not line.lstrip().startswith("#")]
        # A token may end in =, as base64 does; the name of a workspace has none.
        pairs = [entry.strip().rpartition("=") for entry in entries if entry.strip()]
        if not pairs and (source.get(VARIABLE, "").strip() or source.get(FILE_VARIABLE)):
            raise SettingsError("Tokens are asked for, and there is none.", _FORM)
        return cls([(token.strip(), name.strip()) for token, _, name in pairs], workspace)

    @property
    def asks(self) -> bool:
        """Whether a token is asked for."""
        return bool(self._held)

    @property
    def callers(self) -> int:
        """How many tokens there are."""
        return len(self._held)

    @property
    def workspaces(self) -> tuple[str, ...]:
        """Those that the tokens open, each once."""
        return tuple(dict.fromkeys(caller.workspace for caller in self._held.values()))

    def caller(self, authorizations: Sequence[str]) -> Caller | None:
        """The sender of a request, by its Authorization headers; None where its token is missing or unknown.

        Takes as long for a wrong token as for a right one.
        """
        if not self._held:
            return self._alone
        given, found = digest_bearer(authorizations), None
        for digest, caller in self._held.items():
            if hmac.compare_digest(digest, given):
                found = caller
        return found

    def check_address(self, host: str) -> None:
        """Raises SettingsError where other machines could reach `host`, and no token is asked for."""
        if not self._held and not is_loopback(host):
            raise SettingsError(
                f"Without tokens this machine alone may be served, and others can reach {host}.",
                f"Set {VARIABLE} to token=workspace, or serve 127.0.0.1.",
            )

    def __repr__(self) -> str:
        return f"Access({len(self._held)} tokens)"


@dataclass(frozen=True, slots=True)
class Door:
    """Lets requests in, and has in the audit log which it refused. Its methods raise RefusedError."""

    access: Access
    arrivals: Arrivals

    async def check_origin(self, hosts: Sequence[str], origins: Sequence[str]) -> None:
        """Refuses pages of other sites; where no token is asked for, also names of other machines."""
        if why := Origins(local=not self.access.asks).refuse(hosts, origins):
            await asyncio.to_thread(self.arrivals.turned_away, why)
            raise RefusedError(403, "foreign", why, "Use it by its own address.")

    async def admit(self, authorizations: Sequence[str]) -> Caller:
        """The sender of a request with these Authorization headers."""
        caller = self.access.caller(authorizations)
        if self.arrivals.news(caller):
            await asyncio.to_thread(self.arrivals.came, caller)
        if caller is None:
            remedy = "Send it in the header: Authorization: Bearer TOKEN."
            bearer = {"WWW-Authenticate": "Bearer"}
            raise RefusedError(401, "invalid_token", "A valid token is needed.", remedy, bearer)
        return caller


def digest_bearer(authorizations: Sequence[str]) -> bytes:
    """The digest of the token in a request's Authorization headers; empty where there is none."""
    scheme, _, token = authorizations[0].partition(" ") if len(authorizations) == 1 else ("", "", "")
    return digest_token(token.strip()) if scheme.lower() == "bearer" else b""


def digest_token(token: str) -> bytes:
    """What is kept of a token: its SHA-256."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
