"""Empty private workspaces: removed while the program runs, once they were empty for long."""

import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from crag.engine import Engine
from crag.storage.private import name_of
from tests.support.small_library import fill

DAY, NEVER = 24 * 3600.0, threading.Event()


def test_an_empty_private_workspace_ends_while_the_program_runs(engine_with: Callable[..., Engine]) -> None:
    engine = engine_with()
    workspace = name_of(engine.private_libraries.issue())
    fill(engine, workspace=workspace)
    library = engine.library(workspace)
    for document in library.documents.all():
        library.documents.delete(document.id)
    library.purges.expire(datetime.now(UTC) + timedelta(days=400))
    engine._libraries.forget(engine.private_libraries.root / workspace)
    engine.tidy(NEVER)
    assert engine.private_libraries.holds(workspace), "not before a day has gone by"
    found_empty = engine.config.storage.data / "empty.json"
    found_empty.write_text(json.dumps({workspace: json.loads(found_empty.read_bytes())[workspace] - 2 * DAY}))
    engine.tidy(NEVER)
    assert not engine.private_libraries.holds(workspace) and engine.library(workspace).documents.count() == 0
