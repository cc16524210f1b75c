"""The CRAG Explorer engine: Corrective Retrieval-Augmented Generation, free of any user interface.

from crag.engine import Engine
"""

__version__ = "0.1.0"
__all__ = ["__version__"]
