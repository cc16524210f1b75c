"""The command that makes a static site of stored runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from crag.cli.options import Place, latest_run
from crag.cli.output import Output
from crag.core.errors import SettingsError
from crag.export.html.site import write_site
from crag.text.formats import count


def site(
    place: Place,
    output: Output,
    out: Annotated[Path, Option(metavar="FOLDER", help="where the pages are written; it is made if it is not there")],
    runs: Annotated[
        list[str] | None,
        Argument(metavar="RUN", help='ids of runs, as ask --json says them; "last": the latest'),
    ] = None,
    last: Annotated[int, Option(min=0, metavar="N", help="the latest N runs, after those that are named")] = 0,
) -> int:
    """One line a page. The pages load nothing, and replay from disk too: they hold what the runs quoted, with pictures
    of the cited pages. Nothing is written where a run is not there."""
    if not runs and not last:
        raise SettingsError("No run is chosen.", "Name runs by their ids, or give --last 5.")
    with place.opened() as (engine, library):
        named = [latest_run(library) if run == "last" else run for run in runs or ()]
        ids = list(dict.fromkeys([*named, *(run.run_id for run in library.runs.latest(last or 1)[:last])]))
        if not ids:
            latest_run(library)  # says that there is none
        for run, file in write_site(engine, place.target, ids, out):
            output.show({"run": run, "file": str(file)}, str(file))
    output.note(f"{count(len(ids), 'run')}; open {out / 'index.html'}")
    return 0
