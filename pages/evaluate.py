"""Evaluate: question sets run under several strategies, and what came of it."""

import streamlit as st

from ui import door

door.enter("evaluate")
st.title("Evaluate", anchor=False)
