"""Administration: people and their roles, all workspaces, and the audit log, for who administers alone."""

import streamlit as st

from ui.administration import page
from ui.app.session import Session
from ui.components import problems

st.title("Administration", anchor=False)
with problems.reported(stop=True):
    session = Session()
    session.require("administer")
page.show(session)
