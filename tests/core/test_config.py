"""The configuration from the environment."""

from __future__ import annotations

import pytest

from crag.core.config import AppConfig, find_unknown_variables


def test_a_misspelt_variable_is_named_with_the_nearest_one_and_without_its_value(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CRAG_RUN_CALS", "secret-value")
    monkeypatch.setenv("CRAG_SOMETHING_ELSE", "x")
    monkeypatch.setenv("CRAG_OWN_PROVIDER_KEY", "k")
    AppConfig.from_environment()
    said = [record.getMessage() for record in caplog.records if "environment variable" in record.getMessage()]
    assert len(said) == 2 and "secret-value" not in "".join(said)
    assert "CRAG_RUN_CALS" in said[0] and "CRAG_RUN_CALLS" in said[0] and "CRAG_SOMETHING_ELSE" in said[1]
    assert find_unknown_variables({"CRAG_TAVILY_KEY": "k", "CRAG_DATA": "d", "CRAG_SEARXNG_BASE_URL": "u"}) == {}
