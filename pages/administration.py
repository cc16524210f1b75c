"""Administration: people and their roles, all workspaces, and the audit log, for who administers alone."""

import streamlit as st

from ui.administration import log, people, spaces
from ui.app.session import Session
from ui.components import problems

TABS = {"People": people.show, "Workspaces": spaces.show, "Audit log": log.show}
"""One at a time is drawn: the others are not asked for anything."""

st.title("Administration", anchor=False)
with problems.reported(stop=True):
    session = Session()
    session.require("administer")
chosen = st.segmented_control(
    "View", list(TABS), default="Workspaces", required=True, key="admin-view", label_visibility="collapsed"
)
if chosen is not None:
    with problems.reported():
        TABS[chosen](session)
