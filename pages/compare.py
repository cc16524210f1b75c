"""Compare: one question under two to four strategies or actions, side by side."""

import streamlit as st

from ui import compare, door, picker, problems, workspaces
from ui.house import house
from ui.session import Session

door.enter("compare")
st.title("Compare", anchor=False)
with problems.told(stop=True):
    session = Session()
workspaces.words_on_the_key(house().config)
picked = picker.clicked()
with problems.told():
    compare.follow(session, picked)
with problems.told():
    compare.show(session)
