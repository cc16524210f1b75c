"""Evaluate: question sets run under several strategies, what came of it, and two results held against each other."""

import streamlit as st

from crag.evaluation import evaluations, stored_sets
from ui import (
    door,
    evaluate_job,
    evaluate_pair,
    evaluate_panel,
    evaluate_rows,
    evaluate_run,
    picker,
    problems,
    results,
    workspaces,
)
from ui import sets as question_sets
from ui.house import house
from ui.session import Session

VIEWS = {"questions": "Questions", "results": "Results", "pair": "Compare two"}

door.enter("evaluate")
st.title("Evaluate", anchor=False)
with problems.told(stop=True):
    session = Session()
    stored, made = stored_sets(session.library), evaluations(session.library)
workspaces.words_on_the_key(house().config)
with problems.told():
    evaluate_rows.follow(session, picker.clicked())

job = evaluate_job.current(session)
busy = job is not None and job.running
if job is not None and busy:
    evaluate_panel.live(session, job)
elif job is not None:
    evaluate_panel.told(job)
if not busy:
    with problems.told():
        evaluate_run.unfinished(session, made)

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
with problems.told():
    if view == "results":
        results.show(session, made)
    elif view == "pair":
        evaluate_pair.show(session, made)
    else:
        question_sets.add(session, first=not stored)
        if stored:
            chosen = question_sets.choose(session, stored, made)
            question_sets.show(session, chosen)
            evaluate_run.form(session, chosen, busy=busy)
