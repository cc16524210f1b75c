"""Documents: add files, see what is in the library and how it was cut, delete, re-index."""

import streamlit as st

from ui.app import navigation, workspaces
from ui.app.program import program
from ui.app.session import Session
from ui.documents import page, uploads
from ui.kit import picker, problems

navigation.enter("documents")
st.title("Documents", anchor=False)
with problems.reported(stop=True):
    session = Session()
workspaces.show_key_notice(program().config)
page.drop_zone(session)

picker.handle_clicks(page.mark)
job = uploads.current(session)
progress, held = st.container(), page.LibraryView(session)
if job is None:
    held.show(live=False)
else:
    with progress:
        uploads.follow(job, held.show)
