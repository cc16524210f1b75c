"""Compare: one question under two to four strategies or actions, side by side."""

from functools import partial

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
with problems.told():
    picker.hear(partial(board.follow, session))
with problems.told():
    board.show(session)
