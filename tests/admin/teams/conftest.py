"""The teams' tables, in a file and on a server, and people who use them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crag.admin.audit import AuditLog
from crag.admin.links import Links
from crag.admin.people import Identity, People, Person
from crag.admin.roles import Actor, Role
from crag.admin.store import open_store
from crag.admin.workspaces import Workspaces
from crag.core.config import PeopleSettings
from crag.storage.database import Database
from crag.storage.postgres import server_at


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    server = server_at("" if request.param == "sqlite" else str(request.getfixturevalue("database")))
    made = open_store(tmp_path, server)
    yield made
    made.close()
    if server is not None:
        server.close()


@pytest.fixture
def audit(store: Database) -> AuditLog:
    return AuditLog(store)


@pytest.fixture
def spaces(store: Database, audit: AuditLog) -> Workspaces:
    return Workspaces(store, audit)


@pytest.fixture
def links(store: Database, audit: AuditLog) -> Links:
    return Links(store, audit)


@pytest.fixture
def people(store: Database, audit: AuditLog) -> People:
    return People(store, audit, lambda: PeopleSettings())


@pytest.fixture
def person(people: People) -> Callable[..., Person]:
    """person("ben", "viewer", groups=…): somebody who has signed in."""

    def come(name: str, role: Role = "editor", groups: tuple[str, ...] = ()) -> Person:
        email = f"{name}@example.org"
        if all(each.email != email for each in people.all()):
            people.invite(email, role, by="owner")
        return people.admit(
            Identity(issuer="http://p", subject=name, name=name.capitalize(), email=email, groups=groups)
        )

    return come


@pytest.fixture
def actor() -> Callable[[Person], Actor]:
    return lambda person: Actor(name=person.called, id=person.id, administers=person.role == "admin")
