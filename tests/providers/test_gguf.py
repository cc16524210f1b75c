"""A model file as it is chosen: what a configuration comes to, and why a file can't be used."""

from pathlib import Path
from typing import Any

import pytest

from crag.core.config import AppConfig, Keys
from crag.pipeline.resolve import ProviderPlan, model_place, problem, resolve_providers
from crag.providers import gguf_server
from crag.providers.gguf_server import model_files


def made(file: Path) -> Path:
    file.write_bytes(b"GGUF")
    return file


def of(path: object, **config: Any) -> ProviderPlan:
    return resolve_providers(AppConfig.of(llm="gguf", llm_model=str(path), **config), Keys())


def test_a_model_file_writes_costs_nothing_and_nothing_leaves(tmp_path: Path) -> None:
    file = made(tmp_path / "tiny.gguf")
    found = of(file, evaluator="llm")
    assert found.missing == () and found.leaving == () and found.model is not None and found.writer is found.model
    assert found.model.host == "" and found.model.price is not None and not found.model.price.by_token
    assert found.grader.endpoint == found.model.endpoint and str(tmp_path) not in found.model.endpoint.id


def test_another_content_is_another_model(tmp_path: Path) -> None:
    file = made(tmp_path / "tiny.gguf")
    first = of(file).model
    file.write_bytes(b"GGUF, and more")
    second = of(file).model
    assert first is not None and second is not None and first.endpoint.id != second.endpoint.id
    assert first.endpoint.model == second.endpoint.model == "tiny"


def test_why_a_file_can_not_be_used_is_said_with_its_name_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path, installed, said in (
        ("", True, "No model file is chosen."),
        (tmp_path / "m.gguf", True, "There is no model file m.gguf."),
        (made(tmp_path / "there.gguf"), False, "The package that runs model files is not installed."),
    ):
        monkeypatch.setattr(gguf_server, "installed", lambda installed=installed: installed)
        found = of(path, evaluator="llm")
        [missing] = found.missing
        words = str(problem(missing))
        assert found.model is None and found.grader.provider.name == "local"
        assert words.startswith(said) and words.endswith(".") and str(tmp_path) not in words


def test_the_files_of_a_folder_are_listed(tmp_path: Path) -> None:
    made(tmp_path / "b.gguf"), made(tmp_path / "a.gguf")
    assert [each.name for each in model_files(tmp_path)] == ["a.gguf", "b.gguf"]
    assert model_files(tmp_path / "none") == []


def test_a_file_is_found_by_its_name_in_the_data_folder_and_as_it_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    file = made(tmp_path / "models" / "my own.gguf")
    for said in ("my own.gguf", str(file), f'"{file}"', f"file://{str(file).replace(' ', '%20')}"):
        assert model_place(AppConfig.of(data=tmp_path, llm="gguf", llm_model=said)) == file
    assert model_place(AppConfig.of(data=tmp_path, llm_model=" ")) is None
