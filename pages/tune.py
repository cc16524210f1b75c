"""Tune: what every stored run would become under other thresholds, and where labels say they should be."""

import streamlit as st

from ui.app import navigation
from ui.app.session import Session
from ui.kit import picker, problems
from ui.tune import page

navigation.enter("tune")
st.title("Tune", anchor=False)
with problems.reported(stop=True):
    session = Session()

picked = picker.clicked()
with problems.reported():
    page.follow(session, picked)
    page.show(session)
