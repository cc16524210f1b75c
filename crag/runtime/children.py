"""What a child process of this program is started with: the package, and nothing of the parent's environment."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["PACKAGE_PARENT", "bare_environment"]

PACKAGE_PARENT = Path(__file__).resolve().parent.parent.parent
"""The folder that holds the package."""


def bare_environment() -> dict[str, str]:
    """No keys, no proxies, no start-up files: the child needs the package and nothing else."""
    return {"PYTHONPATH": str(PACKAGE_PARENT), "PYTHONNOUSERSITE": "1", "PYTHONUTF8": "1", "PATH": os.defpath}
