"""Demo: recorded runs over the sample, as stories over the whole window."""

import streamlit as st

from ui.app.session import Session
from ui.components import click_bridge, problems
from ui.demo import page
from ui.run import presentation

st.title("Demo", anchor=False)
with problems.reported(stop=True):
    session = Session()
click_bridge.handle_clicks(presentation.follow)
with problems.reported():
    page.show(session)
