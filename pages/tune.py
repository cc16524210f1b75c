"""Tune: what every stored run would become under other thresholds, and where labels say they should be."""

from functools import partial

import streamlit as st

from ui.app import navigation
from ui.app.session import Session
from ui.kit import picker, problems
from ui.tune import board

navigation.enter("tune")
st.title("Tune", anchor=False)
with problems.told(stop=True):
    session = Session()

with problems.told():
    picker.hear(partial(board.follow, session))
    board.show(session)
