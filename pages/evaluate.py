"""Evaluate: question sets run under several strategies, what came of it, and two results held against each other."""

import streamlit as st

from crag.analysis.evaluate import evaluations
from ui.access import workspaces
from ui.app.program import program
from ui.app.session import Session
from ui.components import problems
from ui.evaluate import comparison, evaluation_job, results, start
from ui.evaluate import sets as question_sets

VIEWS = {"questions": "Questions", "results": "Results", "pair": "Compare two"}

st.title("Evaluate", anchor=False)
with problems.reported(stop=True):
    session = Session()
    stored, made = session.library.evaluations.sets(), evaluations(session.library)
workspaces.show_key_notice(program().config)

job = evaluation_job.current(session)
busy = job is not None and job.running
if job is not None and busy:
    start.show_live(session, job)
elif job is not None:
    start.show_outcome(job)
if not busy:
    with problems.reported():
        start.unfinished(session, made)

view = st.segmented_control(
    "View",
    list(VIEWS),
    default="results" if any(each.done for each in made) else "questions",
    required=True,
    format_func=VIEWS.__getitem__,
    key="eval-view",
    persist_state="session",
    label_visibility="collapsed",
)
with problems.reported():
    if view == "results":
        results.show(session, made)
    elif view == "pair":
        comparison.show(session, made)
    else:
        question_sets.add(session, first=not stored)
        if stored:
            chosen = question_sets.choose(session, stored, made)
            question_sets.show(session, chosen)
            start.form(session, chosen, busy=busy)
