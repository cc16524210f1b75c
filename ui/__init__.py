"""Streamlit code that the pages share. It draws what the engine yields and never does engine work itself."""
