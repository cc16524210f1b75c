"""Tune: what every stored run would become under other thresholds, and where labels say they should be."""

import streamlit as st

from ui import door

door.enter("tune")
st.title("Tune", anchor=False)
