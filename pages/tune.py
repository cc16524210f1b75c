"""Tune: what every stored run would become under other thresholds, and where labels say they should be."""

import streamlit as st

from ui.app import undo
from ui.app.session import Session
from ui.components import problems
from ui.tune import page

st.title("Tune", anchor=False)
with problems.reported(stop=True):
    session = Session()

with problems.reported():
    undo.bar(session)
    page.show(session)
