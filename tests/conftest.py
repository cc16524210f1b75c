"""Fixtures that every room's tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is slow without being wrong.
settings.register_profile("crag", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("crag")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data beside the checkout; a test that needs it is skipped where it is absent."""
    folder = Path(os.environ.get("CRAG_SHARED", ROOT.parent / "shared")) / "data"
    if not folder.is_dir():
        pytest.skip(f"no shared data folder at {folder}: set CRAG_SHARED to run this test")
    return folder
