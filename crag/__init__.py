"""The CRAG Explorer engine: Corrective Retrieval-Augmented Generation, free of any user interface.

from crag import Engine

with Engine() as engine:
    engine.add("report.pdf")
    print(engine.answer("Who signed the report?").text)

`__all__` is the public API. Other modules may change in any release.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from crag.core import __version__

if TYPE_CHECKING:
    from crag.analysis.configurations import Comparison, Configuration, EvaluationResult, compare, evaluate
    from crag.analysis.questions.sets import Question
    from crag.core import errors, events
    from crag.core.config import AppConfig
    from crag.core.documents import Chunk, Document
    from crag.core.errors import CragError
    from crag.core.protocols import RunRequest
    from crag.core.ranking import rank_texts
    from crag.core.settings import Settings
    from crag.core.strategies import STRATEGIES, Strategy
    from crag.core.trace import Trace
    from crag.core.types import Action, Answer, Citation, Grade, RetrievedChunk, Strip
    from crag.engine import Engine

__all__ = [
    "STRATEGIES",
    "Action",
    "Answer",
    "AppConfig",
    "Chunk",
    "Citation",
    "Comparison",
    "Configuration",
    "CragError",
    "Document",
    "Engine",
    "EvaluationResult",
    "Grade",
    "Question",
    "RetrievedChunk",
    "RunRequest",
    "Settings",
    "Strategy",
    "Strip",
    "Trace",
    "__version__",
    "compare",
    "errors",
    "evaluate",
    "events",
    "rank_texts",
]

_HOMES = {
    "crag.analysis.configurations": ("Comparison", "Configuration", "EvaluationResult", "compare", "evaluate"),
    "crag.analysis.questions.sets": ("Question",),
    "crag.core": ("errors", "events"),
    "crag.core.config": ("AppConfig",),
    "crag.core.documents": ("Chunk", "Document"),
    "crag.core.errors": ("CragError",),
    "crag.core.protocols": ("RunRequest",),
    "crag.core.ranking": ("rank_texts",),
    "crag.core.settings": ("Settings",),
    "crag.core.strategies": ("STRATEGIES", "Strategy"),
    "crag.core.trace": ("Trace",),
    "crag.core.types": ("Action", "Answer", "Citation", "Grade", "RetrievedChunk", "Strip"),
    "crag.engine": ("Engine",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `import crag` alone loads no other module."""
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return resolve_name(f"{home}.{name}")
