"""Documents: add PDFs, see what is in the library and how it was cut, delete, re-index."""

import streamlit as st

from ui.app import navigation, workspaces
from ui.app.program import program
from ui.app.session import Session
from ui.documents import shelf, uploads
from ui.kit import problems

navigation.enter("documents")
st.title("Documents", anchor=False)
with problems.reported(stop=True):
    session = Session()
workspaces.show_key_notice(program().config)
shelf.drop_zone(session)

job = uploads.current(session)
if job is not None:
    uploads.follow(job)

with problems.reported(stop=True):
    documents = session.library.documents.all()

shelf.warn_of_model(session)
if documents:
    shelf.table(session, documents)
    shelf.open_one(session, documents)
elif job is None or not job.running:
    shelf.empty(session)
