"""A process that has imported the reader of one kind of file, and forks a child for each, in a few milliseconds.

Run as `python -m crag.ingest.forkserver` by `crag.ingest.children`, never imported by the engine. It has one thread,
reads no file of a person, holds no keys, and ends when the process that started it does.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import os
import resource
import selectors
import signal
import socket
import sys

from crag.ingest import child
from crag.ingest.children import RECOGNITION, STARTED, STATUS
from crag.ingest.files import READERS, FileError

_FILES = 3
_IMPORTED = {
    "crag.ingest.pdf": ("crag.ingest.pictures", "PIL.ImageDraw"),
    "crag.ingest.pictures": ("PIL.ImageDraw",),
    "crag.ingest.docx": ("lxml.html",),
    "crag.ingest.epub": ("lxml.html",),
    "crag.ingest.mail": ("lxml.html", "olefile"),
    "crag.ingest.opendocument": ("lxml.html",),
    RECOGNITION: ("cv2", "onnxruntime", "rapidocr"),
}
"""What a reader imports once it reads. What is not named here its children import each by themselves."""
_SAMPLES = {
    "csv": b"a,b\n1,2\n",
    "email": b"From: a@example.org\nSubject: b\n\nc\n",
    "html": b"<html lang=en><title>a</title><h1>b</h1><p>c<table><tr><th>d<th>e<tr><td>1<td>2</table>",
    "markdown": b"# a\n\nb [c](d)\n\n- e\n\n| f | g |\n|---|---|\n| 1 | 2 |\n",
    "rtf": rb"{\rtf1 a\par b}",
    "text": b"a. caf\xe9\n",  # in an encoding that is to be found
}
"""By kind, a file that is read before any person's: what its reader makes at its first use, every child then has."""
_LIMITS = {"max_pages": 9, "memory_mb": 512, "seconds": 9}
_IDLE_SECONDS = 300.0
_NEW_USERS, _NEW_NETWORK = 0x10000000, 0x40000000
_DIE_WITH_PARENT = 1
_system = ctypes.CDLL(None)


def main() -> None:
    """Serve the socket whose number is given until its other end is closed, or nobody has asked for five minutes.

    The second argument is the module of the readers that are to be imported.
    """
    asked, reader = socket.socket(fileno=int(sys.argv[1])), sys.argv[2]
    _leave_network()
    prepare(reader)
    gc.collect()
    gc.freeze()  # a child that looked through all of it would copy it
    if len(os.listdir("/proc/self/task")) == 1:  # a fork has one thread, whatever the others were at
        _Server(asked).serve()


def prepare(reader: str) -> None:
    """Import a reader's module with what it needs, and let it read its samples."""
    for name in (reader, *_IMPORTED.get(reader, ())):
        with contextlib.suppress(ImportError):  # a child that needs it says what is missing
            importlib.import_module(name)
    for media, place in READERS.items():
        if place.startswith(f"{reader}:") and media in _SAMPLES:
            with contextlib.suppress(ImportError, FileError):
                list(child.read_messages(_SAMPLES[media], {"media": media, "name": media, **_LIMITS}))


def _leave_network() -> None:
    """Children reach no network, where the system lets a program choose so."""
    _system.unshare(_NEW_USERS | _NEW_NETWORK)


class _Server:
    def __init__(self, asked: socket.socket) -> None:
        self._asked = asked
        self._children: dict[int, socket.socket] = {}
        self._woken, waking = socket.socketpair()
        self._woken.setblocking(False)
        waking.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waking.fileno())
        self._waking = waking
        self._selector = selectors.DefaultSelector()
        self._selector.register(asked, selectors.EVENT_READ, self._begin)
        self._selector.register(self._woken, selectors.EVENT_READ, self._reap)

    def serve(self) -> None:
        while ready := self._selector.select(None if self._children else _IDLE_SECONDS):
            for key, _ in ready:
                if not key.data():
                    for pid in self._children:
                        _kill(pid)
                    return

    def _begin(self) -> bool:
        """Fork a child for a request; False where no more will come."""
        message, files, _, _ = socket.recv_fds(self._asked, 1, _FILES)
        if not message:
            return False
        server = os.getpid()
        pid = os.fork()
        if not pid:
            _become_child(server, *files)
        for each in files[:2]:
            os.close(each)
        control = self._children[pid] = socket.socket(fileno=files[2])

        def leave() -> bool:
            if pid in self._children:  # else it was reaped a moment ago
                self._selector.unregister(control)
                _kill(pid)
            return True

        self._selector.register(control, selectors.EVENT_READ, leave)
        _tell(control, STARTED)
        return True

    def _reap(self) -> bool:
        with contextlib.suppress(BlockingIOError):
            self._woken.recv(4096)
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            control = self._children.pop(pid)
            with contextlib.suppress(KeyError):  # it was left alone already
                self._selector.unregister(control)
            _tell(control, STATUS.pack(os.waitstatus_to_exitcode(status)))
            control.close()
        return True


def _tell(control: socket.socket, message: bytes) -> None:
    with contextlib.suppress(OSError):  # nobody listens any more
        control.send(message)


def _kill(pid: int) -> None:
    """The child, which is not reaped yet, and all that it may have started."""
    os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _become_child(server: int, source: int, out: int, control: int) -> None:
    """Do one job as `python -m crag.ingest.child` would, and end."""
    status = 1
    try:
        os.setsid()
        _system.prctl(_DIE_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != server:  # it was gone before
            return
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(source, 0)
        os.dup2(out, 1)
        os.closerange(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        child.main()
        status = 0
    finally:
        os._exit(status)


if __name__ == "__main__":
    main()
