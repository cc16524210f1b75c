"""Ask a question and watch its run: the conversation on the left, the evidence on the right."""

from functools import partial

import streamlit as st

from ui.app import guide, undo
from ui.app.session import Session
from ui.ask import conversation, presenting, runview, welcome
from ui.components import click_bridge, problems
from ui.run import presentation

with problems.reported(stop=True):
    session = Session()

click_bridge.handle_clicks(partial(conversation.follow, session))

run, presented = None, False
with problems.reported():
    run = session.attach()
with problems.reported():
    presented = run is not None and presentation.wanted() and presenting.present(session, run)
if not presented:
    with problems.reported(stop=True):
        if run is None and guide.stuck(session):
            welcome.show(session)
            st.stop()
    undo.bar(session)
    conversation.sidebar(session)
    with problems.reported():
        if run is None:
            welcome.show(session)
        else:
            welcome.leave(session)
            runview.show(session, run)
