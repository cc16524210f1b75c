"""A run presented over the whole window."""

from __future__ import annotations

from crag.core.errors import NotFoundError
from crag.export.html.page_pictures import pictures
from crag.export.html.slides import show_slides
from ui.app.session import Session
from ui.run import pageview, presentation


def present(session: Session, run: str) -> bool:
    """Present a finished run; False for one under way, and for none, of which the conversation says so.

    Raises CragError.
    """
    try:
        trace = session.trace(run)
    except NotFoundError:
        return False
    job = session.job(run)
    if job is not None and job.running:
        return False
    shown = pictures(session.library, trace, pageview.image)
    presentation.show(show_slides(trace, shown, name=run, app=True))
    return True
