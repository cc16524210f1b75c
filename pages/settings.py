"""Settings: what this session asks with, and what the whole program is given."""

import streamlit as st

from ui import choices, problems
from ui.session import Session

st.title("Settings", anchor=False)
with problems.told(stop=True):
    session = Session()
    choices.status()
strategy, program = st.tabs(["Questions", "Program"])
with strategy:
    choices.strategy(session)
with program, problems.told():
    choices.program()
