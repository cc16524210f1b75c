"""What is remembered by its arguments is registered, so that a deletion ends it (`crag.text.memory`)."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = re.compile(r"\blru_cache\(|@functools\.cache\b|\bst\.cache_(?:data|resource)\b")
WITHOUT_TEXTS = {
    "crag/text/memory.py": "what registers them",
    "ui/components/remembered.py": "what registers them",
    "ui/documents/map_view.py": "points without texts",
    "crag/admin/quotas.py": "prices of models",
    "crag/analysis/funnel.py": "of one funnel, and gone with it",
    "crag/analysis/monitoring/figures.py": "days",
    "crag/core/sample.py": "the sample's own file",
    "crag/ingest/files.py": "hashes of files",
    "crag/pipeline/build.py": "connections to models",
    "crag/providers/gguf_server.py": "model files",
    "crag/providers/registry.py": "plug-ins",
    "crag/storage/catalog.py": "filters, of one generation of a library",
    "crag/storage/store.py": "statements without values",
    "crag/text/guard.py": "the rules",
    "ui/app/open_tabs.py": "whether tabs are open",
    "ui/app/program.py": "the program",
    "ui/app/saved_choices.py": "choices",
    "ui/ask/welcome.py": "the sample's recording",
    "ui/demo/page.py": "the sample's recordings",
    "ui/settings/servers.py": "addresses of servers",
    "ui/tune/stored.py": "runs, which are dropped one by one",
}


def test_every_cache_is_registered_or_holds_no_text_of_a_library() -> None:
    found = {
        path.relative_to(ROOT).as_posix()
        for folder in ("crag", "ui")
        for path in (ROOT / folder).rglob("*.py")
        if CACHE.search(path.read_text("utf-8"))
    }
    assert found <= WITHOUT_TEXTS.keys(), "use crag.text.memory.remember, or ui.components.remembered.remembered"
