"""Tune: what every stored run would become under other thresholds, and where labels say they should be."""

import streamlit as st

from ui import door, picker, problems, tune
from ui.session import Session

door.enter("tune")
st.title("Tune", anchor=False)
with problems.told(stop=True):
    session = Session()

picked = picker.clicked()
with problems.told():
    tune.follow(session, picked)
    tune.show(session)
