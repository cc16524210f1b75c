"""The gc_scheduler goes its own rounds: what is loaded is left out, what runs leave is not, Streamlit's are off."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def ran(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


BEGIN = """
import gc, time, weakref
from ui.app import gc_scheduler
gc_scheduler.EVERY = 0.05
gc.disable()

class Left:
    def __init__(self):
        self.me = self

"""
END = """
until = time.monotonic() + 30
while gone() is not None and time.monotonic() < until:
    time.sleep(0.02)
assert gone() is None
"""


def test_what_runs_leave_behind_goes_soon_after_without_another_run() -> None:
    ran(
        f"""{BEGIN}gc_scheduler.note_run()
gone = weakref.ref(Left())
gc_scheduler.note_run()
{END}"""
    )
