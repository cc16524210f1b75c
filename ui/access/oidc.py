"""Sign-in by OpenID Connect: at which providers, by the `[auth]` section of the secrets, and which sign-ins count.

Streamlit leads to the provider and back and keeps what the provider said in a signed cookie. The cookie's person,
provider and age are checked here; who that is and what they may do, in `crag.admin.people`.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from urllib.parse import SplitResult, urlsplit

import streamlit as st

from crag.admin.people import EMAIL_CLAIM, Identity
from crag.core.errors import AccessError
from crag.runtime.origins import is_loopback

_log = logging.getLogger(__name__)

NO_AUTHLIB = "Sign-in needs the package Authlib: pip install -r requirements/signin.txt, then start again."
_AUTHLIB = (1, 3, 2)
"""The first version that Streamlit signs in with."""
_UNREAD = "The secrets file can't be read, and may ask for sign-in. Fix or remove it."
_NEEDED = ("client_id", "client_secret", "server_metadata_url")
_DISCOVERY = "/.well-known/openid-configuration"
"""What OpenID Connect Discovery appends to the issuer; the rest of the address is the issuer itself."""
_SECRET = 32
"""Characters of a cookie secret at least: who guesses it can be anybody."""
_COOKIE_SECONDS, _LAST = 40 * 86_400.0, 4e9
"""Streamlit takes no cookie that is older than 31 days."""
ANY_AGE = int(_COOKIE_SECONDS // 3600)
"""So many hours ask nothing of the age of a sign-in whose cookie counts."""
_AHEAD = 300.0
"""Seconds that a provider's clock may be ahead."""
_KNOWN = {
    **{"google": "Google", "microsoft": "Microsoft", "entra": "Microsoft", "azure": "Microsoft", "okta": "Okta"},
    **{"keycloak": "Keycloak", "auth0": "Auth0", "gitlab": "GitLab"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """Where one can sign in. `name`: as `st.login` takes it; `title`: as a person reads it, "" where nobody said.

    Tokens count from this `issuer`, for this `client` alone. `email_claim`: the claim that says that an e-mail is
    verified; `trust_email`: e-mails count although the token does not have that claim.
    """

    name: str
    title: str
    client: str
    issuer: str
    email_claim: str = EMAIL_CLAIM
    trust_email: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """What the `[auth]` section says. `problem`: why nobody can sign in, in a line for the administrator.

    `origin`: the only address at which signing in works, such as https://crag.example.org.
    """

    providers: tuple[Provider, ...] = ()
    origin: str = ""
    problem: str = ""

    @property
    def host(self) -> str:
        """The host's name in that address, without port."""
        return urlsplit(self.origin).hostname or ""

    @property
    def secure(self) -> bool:
        """Whether browsers come by TLS."""
        return self.origin.startswith("https://")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """One sign-in that counts: who, from when until when (seconds since 1970), and a hash that names it."""

    identity: Identity
    issued: float
    ends: float
    hash: str

    @property
    def forgotten_at(self) -> str:
        """From when on its cookie counts nowhere, whatever the settings: ISO 8601 in UTC."""
        last = max(self.issued, 0.0) + _COOKIE_SECONDS
        return datetime.fromtimestamp(min(last, _LAST), UTC).isoformat(timespec="milliseconds")


def on() -> bool:
    """Whether people sign in here. What can't be read counts as yes: nobody is let in by mistake."""
    return configured() is not None


_read_from: tuple[object, SignIn | None] | None = None
"""The secrets that were read last, and what they say: Streamlit's never change while the process lives."""


def configured() -> SignIn | None:
    """What the secrets say of sign-in; None where they say nothing, and the app works without."""
    global _read_from
    last = _read_from
    if last is None or last[0] is not st.secrets:
        last = _read_from = (st.secrets, _configured())
    return last[1]


def _configured() -> SignIn | None:
    try:
        section = st.secrets.get("auth")
    except OSError:  # Streamlit says of a file that it can't read, too, that there is none
        return SignIn(problem=_UNREAD) if any(map(os.path.lexists, st.get_option("secrets.files"))) else None
    if section is None:
        return None
    if not isinstance(section, Mapping):
        return SignIn(problem="[auth] is not a section.")
    return _read({name: section[name] for name in section})


def _read(section: Mapping[str, Any]) -> SignIn:
    named = {name: each for name, each in section.items() if isinstance(each, Mapping) and name != "client_kwargs"}
    sections = {"default": section} if any(section.get(each) for each in _NEEDED) else {}
    sections |= named
    given = section.get("redirect_uri")
    redirect = given.replace("{port}", str(st.get_option("server.port"))) if isinstance(given, str) else ""
    problem = _problem(section, redirect) or next(filter(None, map(_lacking, sections, sections.values())), "")
    if not problem and not sections:
        problem = "[auth] names no provider: client_id, client_secret and server_metadata_url are needed."
    if problem:
        return SignIn(problem=problem)
    parts = urlsplit(redirect)
    return SignIn(
        providers=tuple(
            Provider(
                name=name,
                title=_title(name, each),
                client=str(each["client_id"]),
                issuer=_issuer(each),
                email_claim=str(each.get("email_verified_claim", EMAIL_CLAIM)).strip(),
                trust_email=each.get("trust_email") is True,
            )
            for name, each in sections.items()
        ),
        origin=f"{parts.scheme}://{parts.netloc}",
    )


def _problem(section: Mapping[str, Any], redirect: str) -> str:
    if not _has_authlib():
        return NO_AUTHLIB
    base = str(st.get_option("server.baseUrlPath")).strip("/")
    path = f"/{base}/oauth2callback" if base else "/oauth2callback"
    parts = _parts(redirect)
    if parts is None or parts.path != path or parts.query or parts.fragment:
        return f"[auth] redirect_uri must be this app's address and {path}, as browsers see it."
    if not _safe(parts):
        return "[auth] redirect_uri must begin with https:// (on this machine, http:// works too)."
    secret = section.get("cookie_secret")
    if not isinstance(secret, str) or len(secret) < _SECRET:
        return (
            f"[auth] cookie_secret must have {_SECRET} characters or more that nobody can guess: "
            'python -c "import secrets; print(secrets.token_hex(32))" makes one.'
        )
    if st.get_option("server.trustedUserHeaders"):
        return "server.trustedUserHeaders lets a header say who somebody is: it can't be used together with sign-in."
    return ""


def _has_authlib() -> bool:
    try:
        found = version("Authlib")
    except PackageNotFoundError:
        return False
    return tuple(int(part) for part in re.findall(r"\d+", found)[:3]) >= _AUTHLIB


def _lacking(name: str, section: Mapping[str, Any]) -> str:
    where = "[auth]" if name == "default" else f"[auth.{name}]"
    if "_" in name:
        return f"{where} has an underscore in its name. Rename it without one."
    missing = [each for each in _NEEDED if not (isinstance(section.get(each), str) and section[each].strip())]
    if missing:
        return f"{where} is missing {' and '.join(missing)}."
    parts = _parts(section["server_metadata_url"])
    if parts is None or not _safe(parts):
        return f"{where} server_metadata_url must begin with https:// (on this machine, http:// works too)."
    if not _issuer(section):
        return f"{where} needs issuer, because server_metadata_url does not end in {_DISCOVERY}."
    if not isinstance(section.get("trust_email", False), bool):
        return f"{where} trust_email must be true or false."
    claim = section.get("email_verified_claim", EMAIL_CLAIM)
    if not (isinstance(claim, str) and claim.strip()):
        return f"{where} email_verified_claim must be the name of a claim."
    return ""


def _issuer(section: Mapping[str, Any]) -> str:
    """The issuer whose tokens count: the one that the section names, else the one that the discovery address is of."""
    given = section.get("issuer")
    if isinstance(given, str) and given.strip():
        return given.strip()
    address = str(section["server_metadata_url"]).strip()
    return address.removesuffix(_DISCOVERY) if address.endswith(_DISCOVERY) else ""


def _parts(address: str) -> SplitResult | None:
    try:
        parts = urlsplit(address)
        return parts if parts.hostname and parts.username is None and parts.port != 0 else None
    except ValueError:
        return None


def _safe(parts: SplitResult) -> bool:
    """What is said on the way can be neither read nor changed by others."""
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))


def _title(name: str, section: Mapping[str, Any]) -> str:
    given = section.get("title")
    if isinstance(given, str) and given.strip():
        return given.strip()[:60]
    if name != "default":
        return _KNOWN.get(name.lower(), name[:60])
    host = urlsplit(str(section["server_metadata_url"])).hostname or ""
    ours = {"accounts.google.com": "Google", "login.microsoftonline.com": "Microsoft"}
    return ours.get(host, "Okta" if host.endswith(".okta.com") else "")


def signed(claims: Mapping[str, Any], sign_in: SignIn, hours: int, groups_claim: str = "groups") -> Signed:
    """The sign-in that a cookie holds, its signature checked by Streamlit. `hours`: 0 goes by the token's own end.

    Raises AccessError where it was made for another program, another provider or another client, or is over.
    """
    provider = next((each for each in sign_in.providers if each.name == claims.get("provider")), None)
    audience = claims.get("aud")
    meant = audience if isinstance(audience, list) else [audience]
    if provider is None or provider.client not in meant:
        raise AccessError("This sign-in was made for another app.", "Sign in again.")
    if not _same_issuer(claims.get("iss"), provider.issuer):
        _log.warning(
            "A sign-in was refused: its issuer is %.200r, and that of the provider %s is %r. If people can't sign in "
            "at all, set issuer in this provider's section of the secrets.",
            *(claims.get("iss"), provider.name, provider.issuer),
        )
        raise AccessError("This sign-in is from another provider than the one in use.", "Sign in again.")
    identity = Identity.of(claims, groups_claim, email_claim=provider.email_claim, trust_email=provider.trust_email)
    issued, now = _seconds(claims.get("iat")), time.time()
    ends = issued + hours * 3600 if hours else _seconds(claims.get("exp"))
    if issued > now + _AHEAD:
        raise AccessError("This sign-in is dated in the future.", "Check the clocks, then sign in again.")
    if now >= ends:
        raise AccessError("Your sign-in has ended.", "Sign in again.")
    said = {name: each for name, each in claims.items() if name not in ("tokens", "is_logged_in", "origin")}
    digest = hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()
    return Signed(identity=identity, issued=issued, ends=ends, hash=digest)


def _same_issuer(said: Any, issuer: str) -> bool:
    """Some providers end their name in a slash that the discovery address does not have twice."""
    return isinstance(said, str) and bool(said) and said.rstrip("/") == issuer.rstrip("/")


def _seconds(said: Any) -> float:
    return float(said) if isinstance(said, int | float) and not isinstance(said, bool) else 0.0
