"""The app's front door: page settings, style and the list of pages."""

import streamlit as st

from ui import look

st.set_page_config(page_title="CRAG Explorer", page_icon=str(look.ASSETS / "icon.svg"), layout="wide")
look.apply()
st.logo(str(look.ASSETS / "wordmark.svg"), icon_image=str(look.ASSETS / "icon.svg"), size="large")
page = st.navigation(
    [
        st.Page("pages/ask.py", title="Ask", default=True),
        st.Page("pages/documents.py", title="Documents", url_path="documents"),
        st.Page("pages/settings.py", title="Settings", url_path="settings"),
    ],
    position="top",
)
page.run()
