"""Compare: one question under two to four strategies or actions, side by side."""

from functools import partial

import streamlit as st

from ui.access import workspaces
from ui.app.program import program
from ui.app.session import Session
from ui.compare import page
from ui.components import click_bridge, problems

st.title("Compare", anchor=False)
with problems.reported(stop=True):
    session = Session()
workspaces.show_key_notice(program().config)
click_bridge.handle_clicks(partial(page.follow, session))
with problems.reported():
    page.show(session)
