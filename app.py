"""The app's front door: page settings, style and the list of pages."""

from pathlib import Path

import streamlit as st

from ui import look

PAGES = Path(__file__).parent / "pages"

st.set_page_config(page_title="CRAG Explorer", page_icon=str(look.ASSETS / "icon.svg"), layout="wide")
look.apply()
st.logo(str(look.ASSETS / "wordmark.svg"), icon_image=str(look.ASSETS / "icon.svg"), size="large")
page = st.navigation(
    [
        st.Page(PAGES / "ask.py", title="Ask", default=True),
        st.Page(PAGES / "documents.py", title="Documents", url_path="documents"),
        st.Page(PAGES / "settings.py", title="Settings", url_path="settings"),
    ],
    position="top",
)
page.run()
