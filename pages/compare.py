"""Compare: one question under two to four strategies or actions, side by side."""

import streamlit as st

from ui.app import navigation, workspaces
from ui.app.program import program
from ui.app.session import Session
from ui.compare import board
from ui.kit import picker, problems

navigation.enter("compare")
st.title("Compare", anchor=False)
with problems.told(stop=True):
    session = Session()
workspaces.words_on_the_key(program().config)
picked = picker.clicked()
with problems.told():
    board.follow(session, picked)
with problems.told():
    board.show(session)
