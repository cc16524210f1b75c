"""All threads of a server share two heaps: asked of glibc itself, in a process of its own."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, os, sys, tempfile, threading
from crag.runtime.processes import share_heaps
if sys.argv[1] == "shared":
    share_heaps()
libc, together = ctypes.CDLL(None), threading.Barrier(7)
libc.malloc.restype = ctypes.c_void_p
def take():
    libc.malloc(1000)
    together.wait()
threads = [threading.Thread(target=take) for _ in range(6)]
[each.start() for each in threads]
together.wait()
libc.fopen.restype = ctypes.c_void_p
name = tempfile.mktemp()
stream = ctypes.c_void_p(libc.fopen(name.encode(), b"w"))
libc.malloc_info(0, stream)
libc.fclose(stream)
print(open(name).read().count("<heap nr"))
os.unlink(name)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="this system's C library has no heaps to share")
def test_threads_share_two_heaps() -> None:
    def heaps(how: str) -> int:
        ran = subprocess.run([sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, check=True)
        return int(ran.stdout)

    assert heaps("apart") > 2 >= heaps("shared")
