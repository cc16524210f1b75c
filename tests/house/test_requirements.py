"""The locks match the requirements, which `deptry` compares with what is imported."""

import re
from pathlib import Path

from tests.support.product import ROOT


def required(name: str) -> dict[str, str]:
    """Package -> range, of a requirements file and those it names."""
    found: dict[str, str] = {}
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("-r "):
            found |= required(str(Path(name).parent / line.removeprefix("-r ")))
        elif pair := re.fullmatch(r"([A-Za-z0-9_.-]+)\s*([<>=!~].*)", line):
            found[pair[1].lower().replace("_", "-")] = pair[2]
    return found


def test_the_locks_hold_one_tested_version_of_each_requirement() -> None:
    from packaging.requirements import Requirement

    for lock, files in {
        "requirements/run.lock": ["requirements/run.txt"],
        "requirements/dev.lock": ["requirements.txt", "requirements/dev.txt"],
    }.items():
        pins = [line for line in (ROOT / lock).read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        locked = {pin.name: pin.specifier for pin in map(Requirement, pins)}
        assert len(locked) == len(pins)
        for file in files:
            for name, range_ in required(file).items():
                version = str(next(iter(locked[name]))).removeprefix("==")
                assert Requirement(f"{name}{range_}").specifier.contains(version), f"{lock}: {name} {version}"
    assert "pytest" not in (ROOT / "requirements" / "run.lock").read_text(encoding="utf-8"), (
        "no tests where it is served"
    )
