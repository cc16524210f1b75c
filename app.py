"""The app's entry point: `streamlit run app.py` serves `app`, which runs `ui/shell/main.py` for each visitor."""

from pathlib import Path

import streamlit as st

from ui.server import start
from ui.shell import main

if __name__ == "__main__":
    main.draw()  # where a script is wanted and no server, as in Streamlit's AppTest
else:
    app = st.App(Path(main.__file__), **start.prepared())
