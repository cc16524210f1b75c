"""Monitor: runs over time, what changed, and the runs behind every mark."""

import streamlit as st

from ui.access import workspaces
from ui.app.program import program
from ui.app.session import Session
from ui.components import problems
from ui.monitor import page

st.title("Monitor", anchor=False)
with problems.reported(stop=True):
    session = Session()
workspaces.show_key_notice(program().config)
with problems.reported():
    page.show(session)
