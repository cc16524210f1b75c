"""Documents: add files and folders, search and sort what is in the library, change many at once, open one."""

import streamlit as st

from ui.app import navigation, workspaces
from ui.app.program import program
from ui.app.session import Session
from ui.documents import cutoff, dropping, gaps, leaves, page, progress, uploads
from ui.kit import picker, problems

navigation.enter("documents")
st.title("Documents", anchor=False)
with problems.reported(stop=True):
    session = Session()
workspaces.show_key_notice(program().config)
dropping.drop_zone(session)
cutoff.show(session)

picker.handle_clicks(leaves.mark)
job = uploads.current(session)
uploads.note_address(job)
above, library = st.container(), page.LibraryView(session)
gaps.show(session)
if job is None:
    library.show(live=False)
else:
    with above:
        progress.follow(job, library.show, uploads.ender(session, job), uploads.forget)
