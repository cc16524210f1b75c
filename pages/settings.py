"""Settings: the models and services of this session, what it asks with, what it costs, and the whole program's."""

import streamlit as st

from ui.app.session import Session
from ui.components import problems
from ui.settings import choices, costs, limits, models

st.title("Settings", anchor=False)
with problems.reported(stop=True):
    session = Session()
    choices.status(session)
    choices.lasting(session)
outside, questions, spent, most, program = st.tabs(["Models", "Questions", "Costs", "Limits", "Program"])
with outside, problems.reported():
    models.show(session)
with questions:
    choices.strategy(session)
with spent, problems.reported():
    costs.show(session)
with most, problems.reported():
    limits.show(session)
with program, problems.reported():
    choices.program_form(session)
