"""Who signed in, by the claims of an ID token, and which e-mail of theirs counts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crag.core.errors import AccessError

__all__ = ["EMAIL", "EMAIL_CLAIM", "Identity"]

EMAIL = re.compile(r"[^@\s]{1,64}@[^@\s]{1,190}")
EMAIL_CLAIM = "email_verified"
"""The claim of OpenID Connect by which a provider says that it has verified a person's e-mail."""

_LONGEST, _GROUPS = 200, 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who somebody is, as their provider says: `subject` is one person at `issuer`, and no other ever.

    `email` is verified, or empty; `unverified` is an e-mail that gives nothing. The token has been checked before.
    """

    issuer: str
    subject: str
    name: str = ""
    email: str = ""
    groups: tuple[str, ...] = ()
    unverified: str = ""

    @classmethod
    def of(
        cls,
        claims: Mapping[str, Any],
        groups_claim: str = "groups",
        *,
        email_claim: str = EMAIL_CLAIM,
        trust_email: bool = False,
    ) -> Identity:
        """From the claims of an ID token. Raises AccessError where they name nobody.

        The e-mail counts where `email_claim` says that it is verified. `trust_email`: also where nothing is said.
        """
        issuer, subject = claims.get("iss"), claims.get("sub")
        if not (isinstance(issuer, str) and issuer and isinstance(subject, str) and subject):
            raise AccessError("The sign-in provider did not say who you are.", "Ask your administrator.")
        email = _line(claims.get("email")).lower()
        email = email if EMAIL.fullmatch(email) else ""
        verified = str(claims.get(email_claim, trust_email)).lower() in ("true", "1")
        names = (claims.get(each) for each in ("name", "preferred_username", "nickname"))
        return cls(
            issuer=issuer,
            subject=subject,
            name=next((_line(each) for each in names if _line(each)), ""),
            email=email if verified else "",
            groups=_groups(claims.get(groups_claim)),
            unverified="" if verified else email,
        )


def _line(value: Any) -> str:
    """What a claim says, on one line of a bounded length: providers hand on what people typed."""
    if not isinstance(value, str):
        return ""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in value).split())[:_LONGEST]


def _groups(said: Any) -> tuple[str, ...]:
    """A list of names, or one name; of anything else none. In one order, so that they can be compared."""
    each = [said] if isinstance(said, str) else said if isinstance(said, list) else []
    return tuple(sorted({_line(one) for one in each[:_GROUPS] if _line(one)}))
