"""Tune: what every stored run would become under other thresholds, and where labels say they should be."""

from functools import partial

import streamlit as st

from ui.app.session import Session
from ui.components import click_bridge, problems
from ui.tune import page

st.title("Tune", anchor=False)
with problems.reported(stop=True):
    session = Session()

click_bridge.handle_clicks(partial(page.follow, session))
with problems.reported():
    page.show(session)
