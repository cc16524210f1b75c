"""Compare: one question under two to four strategies or actions, side by side."""

import streamlit as st

from ui.app import navigation, workspaces
from ui.app.program import program
from ui.app.session import Session
from ui.compare import page
from ui.kit import picker, problems

navigation.enter("compare")
st.title("Compare", anchor=False)
with problems.reported(stop=True):
    session = Session()
workspaces.show_key_notice(program().config)
picked = picker.clicked()
with problems.reported():
    page.follow(session, picked)
with problems.reported():
    page.show(session)
