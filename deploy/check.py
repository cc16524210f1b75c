"""Runs the steps of deploy/Containerfile without any container engine, and then the app as an engine would run it.

sudo python deploy/check.py --base DIR          DIR: a root file system in the place of the image that FROM names,
                                                as made by: debootstrap --variant=minbase
                                                --include=python3,python3-venv bookworm DIR
sudo python deploy/check.py --environment VENV  on this machine's own files, with the packages of VENV: nothing is
                                                downloaded, and `pip install` is not tried

Linux and root alone. Each stage is an overlay over the base, so the base stays as it is. The app then runs as process 1
of its own, without any capability, as the user of the file, on a read-only root with a /tmp of its own, in a network of
its own that has nothing but loopback: it answers, is asked a question, and is stopped by the file's STOPSIGNAL.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "deploy" / "Containerfile"
INSIDE = "CRAG_CHECK_INSIDE"
DEVICES = ("null", "zero", "full", "random", "urandom")
PLAIN = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
QUESTION, DOCUMENT = (
    "What average premium increase was negotiated for FEHB plan year 2020?",
    "samples/opm-annual-performance-report-2019.pdf",
)


@dataclass
class Stage:
    """One FROM: where its files are, and what its steps have set."""

    name: str
    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    user: str = "0:0"
    stop: str = "SIGTERM"
    command: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Every instruction and what follows it, on one line."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n\s*", " ", "\n".join(lines)).splitlines():
        word, _, rest = line.strip().partition(" ")
        yield word.upper(), rest.strip()


def context() -> list[str]:
    """The files that an engine would be given: those that .dockerignore lets through."""
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    names = [name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]
    return [name for name in names if not ignored(name, rules)]


def ignored(name: str, rules: Sequence[str]) -> bool:
    """By the last rule that fits the file or a folder above it."""
    out = False
    for rule in rules:
        pattern = rule.removeprefix("!")
        above = [name, *map(str, Path(name).parents)][:-1] or [name]
        if any(
            fnmatch.fnmatch(each, pattern) or fnmatch.fnmatch(f"/{each}", pattern.replace("**/", "*/"))
            for each in above
        ):
            out = not rule.startswith("!")
    return out


class Check:
    """Builds the stages in a folder, and serves the last."""

    def __init__(self, base: Path, environment: Path | None, work: Path, binds: Sequence[str]) -> None:
        self.base, self.packages, self.work, self.binds = base, environment, work, binds
        self.stages: list[Stage] = []

    def build(self) -> Stage:
        """The last stage, when every step has been done."""
        for word, rest in instructions(FILE.read_text(encoding="utf-8")):
            say(f"{word} {rest[:100]}")
            if word == "FROM":
                self.stages.append(self.begin(rest.partition(" AS ")[2] or "final"))
                continue
            stage = self.stages[-1]
            match word:
                case "ENV":
                    stage.environment |= dict(each.split("=", 1) for each in shlex.split(rest))
                case "WORKDIR":
                    stage.folder = rest
                    (stage.root / rest[1:]).mkdir(parents=True, exist_ok=True)
                case "COPY":
                    self.copy(stage, shlex.split(rest))
                case "RUN":
                    self.step(stage, rest)
                case "USER":
                    stage.user = rest
                case "STOPSIGNAL":
                    stage.stop = rest
                case "CMD":
                    stage.command = json.loads(rest)
                case "HEALTHCHECK":
                    stage.health = json.loads(rest.partition("CMD ")[2])
                case "EXPOSE" | "VOLUME" | "LABEL":
                    pass
                case _:
                    raise SystemExit(f"this check does not know {word}")
        return self.stages[-1]

    def begin(self, name: str) -> Stage:
        place = self.work / name
        upper, other, root = (place / each for each in ("upper", "other", "root"))
        for each in (upper, other, root):
            each.mkdir(parents=True)
        options = f"lowerdir={self.base},upperdir={upper},workdir={other}"
        run("mount", "-t", "overlay", "overlay", "-o", options, str(root))
        for each in ("proc", "dev", "tmp"):
            (root / each).mkdir(exist_ok=True)
        self.lend_devices(root / "dev")
        if self.base == Path("/"):  # this machine's Python may lie where only root may look
            for folder in Path(os.path.realpath(sys.executable)).parents:
                (root / str(folder)[1:]).chmod(0o755)
        return Stage(name, root, dict(PLAIN))

    def lend_devices(self, folder: Path) -> None:
        """Single devices, never the machine's own folder of them: what goes wrong here must not reach it."""
        run("mount", "-t", "tmpfs", "tmpfs", str(folder))
        for name in DEVICES:
            (folder / name).touch()
            run("mount", "--bind", f"/dev/{name}", str(folder / name))
        (folder / "shm").mkdir(mode=0o1777)
        (folder / "fd").symlink_to("/proc/self/fd")

    def copy(self, stage: Stage, words: list[str]) -> None:
        flags = [word for word in words if word.startswith("--")]
        *sources, target = [word for word in words if not word.startswith("--")]
        place = stage.root / os.path.join(stage.folder, target)[1:]
        whence = next((flag.partition("=")[2] for flag in flags if flag.startswith("--from=")), "")
        if whence:
            other = next(each for each in self.stages if each.name == whence)
            run("cp", "-ax", f"{other.root}{sources[0]}/.", str(place))
            if self.packages:
                self.lend(stage)
            return
        for source in sources:
            found = [name for name in self.context if name == source or name.startswith(f"{source}/")]
            if not found:
                raise SystemExit(f"COPY {source}: .dockerignore lets nothing of it through")
            for name in found:
                inside = name.removeprefix(source).removeprefix("/")
                file = place / inside if inside else (place / name if target.endswith("/") else place)
                file.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, file)

    def step(self, stage: Stage, command: str) -> None:
        if self.packages and "pip install" in command:
            say("  (the packages of the given environment are lent instead)")
            self.lend(stage)
            return
        if self.packages:
            command = command.replace(" venv/lib", "")
        resolv = stage.root / "etc" / "resolv.conf"
        if self.base != Path("/") and not resolv.exists():
            shutil.copy("/etc/resolv.conf", resolv)
        for each in self.binds:
            place = stage.root / each[1:]
            place.parent.mkdir(parents=True, exist_ok=True)
            place.mkdir(exist_ok=True) if Path(each).is_dir() else place.touch()
            run("mount", "--bind", each, str(place))
        lent = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_"))}
        ran = subprocess.run(
            ["chroot", str(stage.root), "/bin/sh", "-ec", f"cd {stage.folder}; {command}"],
            env={**lent, **stage.environment},
        )
        for each in self.binds:
            run("umount", str(stage.root / each[1:]))
        if ran.returncode:
            raise SystemExit(f"RUN failed: {command}")

    def lend(self, stage: Stage) -> None:
        place = stage.root / "app" / "venv"
        place.mkdir(parents=True, exist_ok=True)
        run("mount", "--bind", str(self.packages), str(place))

    @property
    def context(self) -> list[str]:
        return context()

    def serve(self, stage: Stage) -> None:
        """Starts the command as an engine would, asks it, and stops it."""
        for tool in ("gcc", "cc", "clang", "make") if self.base != Path("/") else ():
            expect(not any((stage.root / each / tool).exists() for each in ("usr/bin", "usr/local/bin")), f"no {tool}")
        data = stage.root / "data"
        run("mount", "--rbind", str(stage.root), str(stage.root))
        own = self.work / "data"
        shutil.copytree(data, own)
        run("chown", "--reference", str(data), str(own))
        run("mount", "--bind", str(own), str(data))
        run("mount", "-t", "tmpfs", "tmpfs", str(stage.root / "tmp"))
        run("mount", "-o", "remount,ro,bind", str(stage.root))
        inside = f'ip link set lo up; mount -t proc proc {stage.root}/proc; exec "$@"'
        server = subprocess.Popen(
            ["unshare", "--net", "--pid", "--fork", "sh", "-ec", inside, "sh", *self.as_user(stage, stage.command)],
            env=PLAIN,
        )
        try:
            self.ask(stage, server)
        finally:
            server.kill()

    def ask(self, stage: Stage, server: subprocess.Popen[bytes]) -> None:
        began = time.monotonic()
        first = child_of(server.pid)
        within = ["nsenter", "--net", "--pid", "-t", str(first)]

        def inside(*command: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [*within, *self.as_user(stage, command)], env=PLAIN, capture_output=True, text=True, timeout=300
            )

        def get(path: str) -> str:
            code = f"import urllib.request as r; print(r.urlopen('http://127.0.0.1:8501{path}', timeout=9).read())"
            return inside("/app/venv/bin/python", "-c", code).stdout

        probe = inside("/app/venv/bin/python", "-c", "print(1)")
        expect(probe.returncode == 0, "a command runs beside the app", probe.stderr)
        while not get("/healthz") and time.monotonic() - began < 120 and server.poll() is None:
            time.sleep(0.5)
        expect("ok" in get("/healthz"), f"/healthz after {time.monotonic() - began:.0f} s")
        while "ready" not in get("/readyz") and time.monotonic() - began < 300:
            time.sleep(1)
        expect("ready" in get("/readyz"), f"/readyz after {time.monotonic() - began:.0f} s")
        expect("CRAG Explorer" in get("/") or "<!doctype html" in get("/").lower(), "the front page")
        expect(get("/metrics") == "", "no metrics for strangers")
        expect(inside(*stage.health).returncode == 0, "the HEALTHCHECK")
        facts = Path(f"/proc/{first}/status").read_text()
        uid, gid = stage.user.split(":")
        expect(re.search(rf"^Uid:\t{uid}\t", facts, re.MULTILINE) is not None, f"runs as user {uid}")
        expect(re.search(rf"^Gid:\t{gid}\t", facts, re.MULTILINE) is not None, f"and group {gid}")
        expect(re.search(r"^CapBnd:\t0+$", facts, re.MULTILINE) is not None, "without capabilities")
        expect(re.search(r"^NSpid:\t\d+(\t\d+)*\t1$", facts, re.MULTILINE) is not None, "as process 1")
        for place in ("/app/x", "/x", "/etc/x"):
            expect(inside("/bin/sh", "-c", f"echo > {place}").returncode != 0, f"{place} can't be written")
        expect(inside("/bin/sh", "-c", "echo > /data/x && rm /data/x").returncode == 0, "/data can")
        python = "/app/venv/bin/python"
        added = inside(python, "-m", "crag", "index", DOCUMENT, "--library", "/data/check")
        expect(added.returncode == 0, "a document is added", added.stderr)
        asked = inside(python, "-m", "crag", "ask", QUESTION, "--library", "/data/check")
        expect(asked.returncode == 0 and "4.0 percent" in asked.stdout, "a question is answered", asked.stderr)
        os.kill(first, signal.Signals[stage.stop])
        told = time.monotonic()
        try:
            code = server.wait(60)
        except subprocess.TimeoutExpired:
            code = -1
        expect(code == 0, f"{stage.stop} ends it in {time.monotonic() - told:.1f} s with {code}")
        app = stage.root / "app"
        if not self.packages:
            size = subprocess.run(["du", "-sm", str(app)], capture_output=True, text=True, check=True).stdout
            say(f"/app: {size.split()[0]} MB beside the base image")

    def as_user(self, stage: Stage, command: Sequence[str]) -> list[str]:
        uid, gid = stage.user.split(":")
        given = [f"{name}={value}" for name, value in stage.environment.items()]
        became = ["setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups", "--no-new-privs"]
        there = ["/bin/sh", "-c", f'cd {stage.folder}; exec "$@"', "sh", *command]
        drop = ["--inh-caps=-all", "--bounding-set=-all"]
        return ["chroot", str(stage.root), "env", "-i", *given, *became, *drop, *there]


def child_of(pid: int) -> int:
    """The first child of a process, as soon as there is one that has become what it was started for."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        if found:
            return int(found[0])
        time.sleep(0.05)
    raise SystemExit("nothing was started")


def run(*command: str) -> None:
    subprocess.run(command, check=True)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def expect(holds: bool, what: str, else_said: str = "") -> None:
    say(f"{'ok  ' if holds else 'NOT '} {what}")
    if not holds:
        say(else_said)
        raise SystemExit(1)


def clear(work: Path) -> None:
    """Unmounts all that is mounted in the folder, the newest first, before the folder goes: else that would go too."""
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for place in reversed([place for place in mounts if place.startswith(f"{work}/")]):
        run("umount", "-l", place)
    shutil.rmtree(work, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--base", type=Path, default=Path("/"), help="a root file system (default: this machine's)")
    parser.add_argument("--environment", type=Path, help="lend the packages of this environment")
    parser.add_argument("--bind", action="append", default=[], help="show this path to RUN, for packages of your own")
    options = parser.parse_args()
    if options.base == Path("/") and not options.environment:
        parser.error("without --base an --environment is needed")
    if os.geteuid() != 0 or sys.platform != "linux":
        parser.error("this needs Linux and root")
    if not os.environ.get(INSIDE):
        again = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, *sys.argv]
        return subprocess.run(again, env={**os.environ, INSIDE: "1"}).returncode
    work = Path(tempfile.mkdtemp(prefix="crag-check-"))
    try:
        check = Check(options.base.resolve(), options.environment and options.environment.resolve(), work, options.bind)
        check.serve(check.build())
    finally:
        clear(work)
    say("all of it holds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
