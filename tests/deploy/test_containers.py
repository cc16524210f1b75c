"""Containerfile, compose files and unit: linted by their own tools where these are, and their commands really run."""

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from crag.core.config import SETTINGS, AppConfig, Keys
from crag.engine import Engine
from crag.testing.fakes import ScriptedEvaluator
from tests.support.app_server import ROOT
from tests.support.milvus_server import MilvusServer
from tests.support.small_library import WordEmbedder, fill, spread

FOLDER = ROOT / "deploy"
FILE = (FOLDER / "Containerfile").read_text(encoding="utf-8")
UNIT = FOLDER / "crag-explorer.service"


def tool(name: str, how: str) -> str:
    found = shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))
    return found or pytest.skip(f"{name} is not installed: {how}")


def composed(name: str) -> dict[str, Any]:
    return dict(yaml.safe_load((FOLDER / name).read_text(encoding="utf-8")))


def test_the_image_has_what_it_needs_and_nothing_that_is_secret() -> None:
    sys.path.insert(0, str(FOLDER))
    try:
        check = importlib.import_module("check")
    finally:
        sys.path.remove(str(FOLDER))
    given = check.context()
    copied = {word for line in re.findall(r"^COPY (?!--)(.*) \S+$", FILE, flags=re.MULTILINE) for word in line.split()}
    assert all(any(name == word or name.startswith(f"{word}/") for name in given) for word in copied)
    assert {
        "app.py",
        "crag/engine.py",
        "pages/ask.py",
        "crag/export/html/static/style.css",
        ".streamlit/config.toml",
    } <= {*given}
    assert any(name.endswith(".onnx") for name in given), "models inside"
    tops = {name.split("/")[0] for name in given}
    assert tops <= {"app.py", "crag", "ui", "pages", "samples", "requirements", ".streamlit", "LICENSE"}
    rules = (ROOT / ".dockerignore").read_text(encoding="utf-8").split("\n")
    for secret in (
        ".streamlit/secrets.toml",
        "deploy/.env",
        "data/workspaces/a/library.db",
        ".git/config",
        "crag/x.pyc",
    ):
        assert check.ignored(secret, [rule for rule in rules if rule and rule[0] != "#"]), secret


def test_the_file_ends_as_nobody_without_a_shell() -> None:
    assert re.findall(r"^USER (.*)$", FILE, flags=re.MULTILINE) == ["10001:10001"]
    (command,) = re.findall(r"^CMD (.*)$", FILE, flags=re.MULTILINE)
    assert json.loads(command)[:2] == ["/app/venv/bin/python", "-m"]
    assert "gcc" not in FILE and "apt-get" not in FILE and "--only-binary=:all:" in FILE
    assert len(set(re.findall(r"^FROM (\S+)", FILE, flags=re.MULTILINE))) == 1 and ":latest" not in FILE


def test_the_app_of_compose_is_as_closed_as_can_be_and_everything_has_a_limit() -> None:
    app, cluster = composed("compose.yaml")["services"]["app"], composed("compose.cluster.yaml")["services"]
    assert app["read_only"] and app["cap_drop"] == ["ALL"] and app["user"] == "10001:10001"
    assert app["security_opt"] == ["no-new-privileges:true"] and app["pids_limit"]
    assert all(each.startswith("127.0.0.1:") for each in app["ports"])
    assert not any("ports" in each for each in cluster.values())
    for name, each in {**cluster, "app": app}.items():
        assert each["deploy"]["resources"]["limits"]["memory"] and each["healthcheck"]["test"], name
        assert "latest" not in each["image"].rpartition(":")[2].replace("latest}", ""), name
    named = {*app["environment"], *cluster["app"]["environment"]}
    ours = {name.removeprefix("CRAG_").lower() for name in named if name.startswith("CRAG_")}
    assert ours - {"metrics_token_file"} <= set(SETTINGS)
    text = (FOLDER / "compose.cluster.yaml").read_text(encoding="utf-8")
    assert set(re.findall(r"\$\{\w+(:.)", text)) == {":?"}, "no password has a default"


def test_the_environment_of_compose_opens_a_real_database_and_index(
    database: str, milvus_server: MilvusServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the app is given, with the addresses of this machine in place of the containers'."""
    given: dict[str, str] = composed("compose.cluster.yaml")["services"]["app"]["environment"]
    url = given["CRAG_DATABASE_URL"]
    assert re.fullmatch(r"postgresql\+psycopg://crag:\$\{POSTGRES_PASSWORD:\?[^}]+\}@postgres:5432/crag", url)
    assert given["CRAG_MILVUS_URI"] == "http://milvus:19530"
    environment = {
        **given,
        "CRAG_DATABASE_URL": database,
        "CRAG_MILVUS_URI": milvus_server.uri,
        "CRAG_DATA": str(tmp_path),
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    config = AppConfig.from_environment()
    with Engine(config, Keys(), embedder=WordEmbedder(), evaluator=ScriptedEvaluator(score=spread)) as engine:
        fill(engine)
        assert engine.trace("How long does hiring take?").failure is None
        assert not (tmp_path / "workspaces").exists()


def test_the_unit_is_sound_and_hardly_exposed() -> None:
    analyze = tool("systemd-analyze", "apt-get install systemd")
    checked = subprocess.run([analyze, "verify", UNIT], capture_output=True, text=True)
    said = [line for line in checked.stderr.splitlines() if "/opt/crag-explorer/.venv/bin/python is not" not in line]
    assert said == []
    judged = subprocess.run([analyze, "security", "--offline=true", UNIT], capture_output=True, text=True)
    (exposure,) = re.findall(r"exposure level for \S+: ([\d.]+)", judged.stdout)
    assert float(exposure) < 2.0
    text = UNIT.read_text(encoding="utf-8")
    (command,) = re.findall(r"^CMD (.*)$", FILE, flags=re.MULTILINE)
    same = " ".join(json.loads(command)[1:5])
    assert same == "-m streamlit run app.py" and same in text and "--server.address=127.0.0.1" in text


@pytest.mark.heavy
def test_the_steps_of_the_file_run_and_the_app_serves_as_an_engine_would_run_it() -> None:
    """With this environment's packages in place of `pip install`: the whole of it needs a base and an index."""
    if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("ip"):
        pytest.skip("needs root, unshare and ip")
    probe = subprocess.run(["unshare", "--mount", "--net", "--pid", "--fork", "true"], capture_output=True)
    if probe.returncode:
        pytest.skip("this machine allows no namespaces")
    ran = subprocess.run(
        [sys.executable, FOLDER / "check.py", "--environment", sys.prefix], capture_output=True, text=True, timeout=560
    )
    assert ran.returncode == 0 and "all of it holds" in ran.stdout, ran.stdout[-3000:] + ran.stderr[-3000:]
    for held in ("/readyz", "runs as user 10001", "as process 1", "a question is answered", "SIGTERM ends it"):
        assert re.search(rf"^ok .*{held}", ran.stdout, flags=re.MULTILINE), held
