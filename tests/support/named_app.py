"""The app in which a cookie says who is there, so that a browser can be anybody without a provider of sign-ins.

The cookie `person` holds a first name; Cleo is admin, Ben a viewer, everybody else an editor.
"""

import runpy
from pathlib import Path

import streamlit as st

from crag.admin.people import Identity, Person
from crag.core.errors import AccessError
from tests.support.local_models import engine
from ui.app.program import program
from ui.server import start

ROLES = {"Cleo": "admin", "Ben": "viewer"}


def who() -> Person:
    name = st.context.cookies.get("person", "")
    if not name:
        raise AccessError("Nobody has signed in.", "Sign in.")
    people, email = program().engine.teams.people, f"{name.lower()}@example.org"
    if people.of("http://p", name) is None:
        people.invite(email, ROLES.get(name, "editor"), by="owner")
    return people.admit(Identity(issuer="http://p", subject=name, name=name, email=email, groups=("Harbour office",)))


if __name__ == "__main__":
    program().make = engine
    program().who = who
    runpy.run_path(str(Path(__file__).resolve().parents[2] / "app.py"), run_name="__main__")
else:
    app = st.App(__file__, **start.prepared())
