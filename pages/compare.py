"""Compare: one question under two to four strategies, side by side."""

import streamlit as st

from ui import door

door.enter("compare")
st.title("Compare", anchor=False)
