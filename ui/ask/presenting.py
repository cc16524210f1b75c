"""A run presented over the whole window, and at its end its question on the map."""

from __future__ import annotations

from crag.core.errors import NotFoundError
from crag.export.html.slides import pictures, show_slides
from ui.app.session import Session
from ui.components import charts
from ui.documents import map_view
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
    on_map = map_view.draw_run(session, trace)
    more = [on_map[0]] if on_map is not None else []
    presentation.show(show_slides(trace, shown, name=run, app=True, more=more))
    if on_map is not None:
        with presentation.lay_over():
            charts.presented(on_map[1], "map-presented")
    return True
