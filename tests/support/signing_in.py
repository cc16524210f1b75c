"""A real OpenID provider on loopback, the secrets that lead the app to it, and cookies made as Streamlit makes them."""

import json
import os
import secrets
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value, generate_xsrf_token_string

from crag.admin.audit import AuditLog
from crag.admin.people import People
from crag.admin.store import open_store
from crag.core.config import PeopleSettings
from tests.support.other_programs import at_work, await_reply, free_port
from tests.support.visitor import visit

SECRET = secrets.token_hex(32)
CLIENT = "crag-test"


@dataclass(frozen=True)
class OpenIdProvider:
    """Signs in whoever it is asked for by name. `url` is its issuer."""

    url: str

    def knows(self, subject: str, **claims: Any) -> None:
        """From now on it says this of that subject, whose e-mail it has verified unless something else is said."""
        claims = {"email_verified": True, **claims}
        asked = urllib.request.Request(
            f"{self.url}/users/{subject}",
            data=json.dumps(claims).encode(),
            method="PUT",
            headers={"content-type": "application/json"},
        )
        urllib.request.urlopen(asked, timeout=10).close()

    def section(self) -> str:
        return (
            f'client_id = "{CLIENT}"\nclient_secret = "x"\n'
            f'server_metadata_url = "{self.url}/.well-known/openid-configuration"\n'
        )


@contextmanager
def openid_provider(*options: str) -> Iterator[OpenIdProvider]:
    """The provider, in a process of its own, until the block ends."""
    port = free_port()
    command = [sys.executable, "-m", "oidc_provider_mock", "--port", str(port), *options]
    with at_work(command, Path(os.devnull)) as process:
        address = f"http://localhost:{port}"
        await_reply(f"{address}/.well-known/openid-configuration", process, Path(os.devnull))
        yield OpenIdProvider(address)


def people_of(data: Path) -> People:
    """Whoever an app with this data knows; ada administers it."""
    store = open_store(data)
    return People(store, AuditLog(store), lambda: PeopleSettings(admins=("ada@example.org",)))


def secrets_file(folder: Path, *sections: str, base: str = "") -> Path:
    """A secrets.toml for the app wherever it listens; without named sections it has but what all share."""
    path = folder / "secrets.toml"
    shared = f'[auth]\nredirect_uri = "http://localhost:{{port}}{base}/oauth2callback"\ncookie_secret = "{SECRET}"\n'
    path.write_text(shared + "\n".join(sections))
    return path


def cookie(claims: Mapping[str, Any], origin: str, secret: str = SECRET) -> str:
    """What Streamlit would keep of somebody of whom the provider said this."""
    said = {"is_logged_in": True, "provider": "default", "origin": origin, **claims}
    return create_signed_value(secret, "_streamlit_user", json.dumps(said)).decode()


def claims_of(subject: str, **more: Any) -> dict[str, Any]:
    """What an ID token for this app says of somebody who signs in now."""
    now = int(time.time())
    said = {"iss": "http://localhost", "sub": subject, "aud": CLIENT, "iat": now, "exp": now + 3600, "nonce": subject}
    email = {"email": f"{subject}@example.org", "email_verified": True}
    return {**said, **email, "name": subject.capitalize(), **more}


XSRF = generate_xsrf_token_string()


def arrive(url: str, cookie: str = "", *, xsrf: bool = True) -> list[ForwardMsg]:
    """What the server sends a tab that opens the front page with this cookie, over its real socket."""
    cookies = f"_streamlit_xsrf={XSRF}" + (f"; _streamlit_user={cookie}" if cookie else "")
    return visit(url, cookies=cookies, token=XSRF if xsrf else "")
