"""Ask a question and watch its run: the conversation on the left, the evidence on the right."""

from functools import partial

import streamlit as st

from ui.app import guide, navigation
from ui.app.session import Session
from ui.ask import conversation, runview, stage, welcome
from ui.kit import picker, problems

navigation.enter("ask")
with problems.reported(stop=True):
    session = Session()

picker.handle_clicks(partial(conversation.follow, session))

run = session.attach()
presented = False
with problems.reported():
    presented = run is not None and stage.wanted() and stage.show(session, run)
if not presented:
    with problems.reported():
        if run is None and guide.stuck(session):
            welcome.show(session)
            st.stop()
    past = conversation.sidebar(session)
    with problems.reported():
        if run is None:
            welcome.show(session)
        else:
            welcome.leave(session)
            runview.show(session, run, past)
