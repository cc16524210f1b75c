"""The script that runs for each visitor: page settings, style, the list of pages, and the page that is wanted.

It lies apart from `pages/`, which Streamlit would otherwise take for apps of their own until it has run once.
"""

from pathlib import Path

import streamlit as st

from crag.admin.people import Person
from crag.core.errors import CragError
from ui.access import current, workspace_entry
from ui.app import navigation, notices, open_tabs, workspace_menu
from ui.app.program import program
from ui.components import drawing, problems
from ui.signin import page as signin

PAGES = Path(__file__).parents[2] / "pages"
FRONT = ("ask", "documents", "tune", "demo")
"""The pages that stand in the navigation themselves; the others are in its menu."""


def draw() -> None:
    """The page that this visitor wants, in the app's style."""
    st.set_page_config(page_title="CRAG Explorer", page_icon=str(drawing.ASSETS / "icon.svg"), layout="wide")
    open_tabs.tabs.note()
    drawing.apply_style()
    st.logo(str(drawing.ASSETS / "wordmark.svg"), icon_image=str(drawing.ASSETS / "icon.svg"), size="large")
    pages = {
        "ask": st.Page(PAGES / "ask.py", title="Ask", default=True),
        "documents": st.Page(PAGES / "documents.py", title="Documents", url_path="documents"),
        "tune": st.Page(PAGES / "tune.py", title="Tune", url_path="tune"),
        "demo": st.Page(PAGES / "demo.py", title="Demo", url_path="demo"),
        "compare": st.Page(PAGES / "compare.py", title="Compare", url_path="compare"),
        "evaluate": st.Page(PAGES / "evaluate.py", title="Evaluate", url_path="evaluate"),
        "monitor": st.Page(PAGES / "monitor.py", title="Monitor", url_path="monitor"),
        "settings": st.Page(PAGES / "settings.py", title="Settings", url_path="settings"),
    }
    arrived = current.arrive(program())
    out = signin.who_is_there() if isinstance(arrived, CragError) and not workspace_entry.by_link() else None
    if not isinstance(arrived, CragError) and arrived.actor.id and arrived.visitor.administers:  # of people alone
        pages["administration"] = st.Page(
            PAGES / "administration.py", title="Administration", url_path="administration"
        )
    if not isinstance(arrived, CragError) and arrived.link is not None:
        del pages["settings"]  # a reader asks nothing that could be set
    grouped = {"": [pages[name] for name in FRONT], "More": [each for name, each in pages.items() if name not in FRONT]}
    page = st.navigation(grouped, position="hidden" if isinstance(out, CragError) else "top")
    if isinstance(out, CragError):
        signin.show(out)
        return
    wanted = navigation.wanted()
    if wanted in pages and pages[wanted] is not page:
        st.switch_page(pages[wanted])
    if not isinstance(arrived, CragError) and arrived.actor.id and isinstance(there := signin.who_is_there(), Person):
        signin.menu(there)
    workspace_menu.show(arrived)
    notices.show_messages()
    with problems.reported():
        page.run()


if __name__ == "__main__":
    draw()
