"""The CRAG Explorer engine: Corrective Retrieval-Augmented Generation, free of any user interface.

from crag import Engine

engine = Engine()
list(engine.add("report.pdf", open("report.pdf", "rb").read()))
print(engine.answer("Who signed the report?").text)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crag.engine import Engine

__version__ = "0.1.0"
__all__ = ["Engine", "__version__"]


def __getattr__(name: str) -> Any:
    """Loads the engine when it is first asked for: `import crag` alone loads nothing."""
    if name == "Engine":
        from crag.engine import Engine

        return Engine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
