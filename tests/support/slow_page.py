"""A page that takes longer to draw than its followed part waits for the next drawing, as on a busy machine.

`tests/browser/test_live.py` serves it.
"""

import time
from types import SimpleNamespace

import streamlit as st

from ui.app import fragments
from ui.server import start


@fragments.alone
def alone(here):
    with st.container(key="alone"):
        st.markdown(f"Moved to {st.slider('Moved', 0, 10, 3, key='moved')}")


def followed(here):
    here.drawn += 1
    time.sleep(1.5)  # so long that the browser asks for the next drawing before this one is sent
    st.markdown("First")
    st.markdown("Drawn often" if here.drawn > 2 else "Drawn")
    alone(here)


if __name__ == "__main__":
    here = st.session_state.setdefault("here", SimpleNamespace(entered=None, drawn=0))
    fragments.follow(here, lambda: True, lambda: followed(here))
    st.markdown("Below")
else:
    app = st.App(__file__, **start.prepared())
