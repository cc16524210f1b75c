"""What a model file says of itself: whether it is one, is whole, converses, and what memory it needs."""

import random
import struct
from pathlib import Path
from typing import Any

import pytest

from crag.core.config import AppConfig, Keys
from crag.pipeline import resolve
from crag.pipeline.resolve import model_place, problem, resolve_providers
from crag.providers.gguf import SLOTS, Fault, ModelFile, inspect_model, model_files
from tests.support.real_server import model_file
from tests.support.small_gguf import CHAT, small_gguf


def reason(path: Path) -> str:
    found = inspect_model(path)
    return found.reason if isinstance(found, Fault) else ""


def test_a_header_is_read_and_the_memory_is_told(tmp_path: Path) -> None:
    found = inspect_model(small_gguf(tmp_path / "tiny.gguf"))
    assert isinstance(found, ModelFile)
    assert (found.name, found.architecture, found.context, found.vocabulary) == ("tiny", "llama", 2048, 3)
    assert found.token_bytes == 4 * 2 * (16 + 16) * 2, "blocks, shared heads, key and value, two bytes each"
    assert found.memory > found.size + found.token_bytes * found.context * SLOTS


def test_heads_may_differ_from_block_to_block(tmp_path: Path) -> None:
    values = {**CHAT, "llama.attention.head_count": [4, 4], "llama.attention.head_count_kv": [1, 2]}
    found = inspect_model(small_gguf(tmp_path / "each.gguf", values))
    assert isinstance(found, ModelFile) and found.token_bytes == 3 * 32 * 2


def test_the_real_model_is_whole_and_cut_off_wherever_it_is_cut(installed: None, tmp_path: Path) -> None:
    real = model_file()
    found = inspect_model(real)
    assert isinstance(found, ModelFile) and found.memory > real.stat().st_size
    with real.open("rb") as file:
        begin = file.read(4_000_000)
    for size in (30, 5_000, 2_000_000, 4_000_000):
        cut = tmp_path / f"{size}.gguf"
        cut.write_bytes(begin[:size])
        assert reason(cut) == "cut-off", size
    cut.write_bytes(begin)
    with cut.open("r+b") as file:
        file.truncate(real.stat().st_size - 1)  # one byte short, the rest a hole
    known = inspect_model(cut)
    assert known == Fault(reason="cut-off", held=real.stat().st_size - 1, whole=real.stat().st_size)


@pytest.mark.parametrize("data", [b"", b"GGUF", b"%PDF-1.7 " * 9, random.Random(1).randbytes(5000), b"GGUF" * 99])
def test_bytes_that_are_no_model(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "some.gguf"
    file.write_bytes(data)
    assert reason(file) == "no-gguf"


def test_a_header_of_noise_never_ends_otherwise(tmp_path: Path) -> None:
    """A sound header with some of its bytes altered is a model, or is refused; nothing else, and at once."""
    file, noise = small_gguf(tmp_path / "whole.gguf"), random.Random(7)
    whole = file.read_bytes()
    for number in range(300):
        altered = bytearray(whole)
        for _ in range(noise.choice((1, 3, 30))):
            altered[noise.randrange(4, 420)] = noise.randrange(256)
        made = tmp_path / f"{number}.gguf"
        made.write_bytes(altered)
        assert isinstance(inspect_model(made), (ModelFile, Fault))


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (struct.pack("<IQQ", 3, 2**60, 1), "no-gguf"),
        (struct.pack("<IQQ", 3, 1, 2**60), "no-gguf"),
        (struct.pack("<IQQQ", 3, 0, 1, 2**62), "no-gguf"),
        (struct.pack("<IQQQ", 3, 0, 1, 1) + b"a" + struct.pack("<IIQ", 9, 8, 2**61), "no-gguf"),
        (struct.pack("<IQQQ", 3, 0, 1, 1) + b"a" + struct.pack("<IIQ", 9, 10, 4_000_000), "cut-off"),
        (struct.pack("<IQQ", 99, 0, 0), "no-gguf"),
    ],
)
def test_a_header_that_claims_more_than_there_can_be(tmp_path: Path, header: bytes, said: str) -> None:
    file = tmp_path / "claims.gguf"
    file.write_bytes(b"GGUF" + header + b"\0" * 64)
    assert reason(file) == said


@pytest.mark.parametrize("kind", ["bert", "nomic-bert", "clip"])
def test_what_holds_no_conversation(tmp_path: Path, kind: str) -> None:
    values = {name.replace("llama", kind): value for name, value in CHAT.items()} | {"general.architecture": kind}
    assert reason(small_gguf(tmp_path / "mute.gguf", values)) == "no-chat"


def test_nothing_a_folder_and_what_may_not_be_read(tmp_path: Path) -> None:
    assert reason(tmp_path / "none.gguf") == reason(tmp_path) == "no-file"
    (tmp_path / "b.gguf").touch()
    (tmp_path / "a.gguf").touch()
    assert [each.name for each in model_files(tmp_path)] == ["a.gguf", "b.gguf"]
    assert model_files(tmp_path / "none") == []


# ---- what a configuration comes to ---------------------------------------------------------------------------------


def of(path: object, **config: Any) -> resolve.ProviderPlan:
    return resolve_providers(AppConfig.of(llm="gguf", llm_model=str(path), **config), Keys())


def test_a_model_file_writes_costs_nothing_and_nothing_leaves(tmp_path: Path) -> None:
    file = small_gguf(tmp_path / "tiny.gguf")
    found = of(file, evaluator="llm")
    assert found.missing == () and found.leaving == () and found.model is not None and found.writer is found.model
    assert found.model.host == "" and found.model.price is not None and not found.model.price.by_token
    assert found.grader.endpoint == found.model.endpoint and str(tmp_path) not in found.model.endpoint.id


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda file: "", "No model file is chosen."),
        (lambda file: file, "There is no model file m.gguf."),
        (lambda file: file.write_bytes(b"text" * 100) and file, "m.gguf is not a GGUF file."),
        (lambda file: small_gguf(file, tensors=(4096,)), "m.gguf is incomplete:"),
        (lambda file: small_gguf(file, {"general.architecture": "x"}), "m.gguf is not a chat model."),
    ],
)
def test_why_a_file_can_not_be_used_is_said_with_its_name_alone(tmp_path: Path, made: Any, said: str) -> None:
    found = of(made(tmp_path / "m.gguf"), evaluator="llm")
    [missing] = found.missing
    words = str(problem(missing))
    assert found.model is None and found.grader.provider.name == "local"
    assert words.startswith(said) and words.endswith(".") and str(tmp_path) not in words


def test_too_little_memory_and_no_package_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = small_gguf(tmp_path / "m.gguf")
    monkeypatch.setattr(resolve, "free_memory", lambda: 200_000_000)
    [missing] = of(file).missing
    assert "needs about 2" in problem(missing).message and "200 MB are free" in problem(missing).message
    monkeypatch.setattr(resolve, "installed", lambda: False)
    [missing] = of(file).missing
    assert missing.reason == "no-extra" and "pip install xllamacpp" in problem(missing).remedy


def test_a_file_is_found_by_its_name_in_the_data_folder_and_as_it_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    file = small_gguf(tmp_path / "models" / "my own.gguf")
    for said in ("my own.gguf", str(file), f'"{file}"', f"file://{str(file).replace(' ', '%20')}"):
        assert model_place(AppConfig.of(data=tmp_path, llm="gguf", llm_model=said)) == file
    assert model_place(AppConfig.of(data=tmp_path, llm_model=" ")) is None
