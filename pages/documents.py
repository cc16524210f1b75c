"""Documents: add files and folders, search and sort what is in the library, change many at once, open one."""

import streamlit as st

from ui.access import workspaces
from ui.app.program import program
from ui.app.session import Session
from ui.components import click_bridge, problems
from ui.documents import folder, gaps, page, progress, uploads
from ui.run import presentation

st.title("Documents", anchor=False)
with problems.reported(stop=True):
    session = Session()
workspaces.show_key_notice(program().config)
uploads.drop_zone(session)
uploads.show_interrupted(session)

click_bridge.handle_clicks(presentation.follow)
job = uploads.current(session)
uploads.note_address(job)
if job is not None:
    progress.follow(session, job, uploads.forget)
live = job is not None and job.running
page.show(session, live=live)
if not live:
    folder.panel(session)
gaps.show(session)
