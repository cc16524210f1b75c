"""Put on PYTHONPATH, writes down every address outside that a process reaches for, and lets it reach none.

OUTSIDE_LOG is the file; OUTSIDE_WAIT the seconds before each attempt fails, as on a network that does not answer. No
packet leaves and no name is looked up: Python asks this hook before it does either.
"""

import ipaddress
import os
import sys
import time

REACHING = {"socket.connect": 1, "socket.sendto": 1, "socket.getaddrinfo": 0, "socket.gethostbyname": 0}
"""Event of Python's audit -> which of its arguments is the address."""


def _outside(address: object) -> bool:
    host = address[0] if isinstance(address, tuple) else address
    host = host.decode("idna") if isinstance(host, bytes) else host
    if not isinstance(host, str) or not host or host == "localhost" or host.startswith(("/", "\0")):
        return False
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        return True
    return not (number.is_loopback or number.is_unspecified)


def _asked(event: str, arguments: tuple[object, ...]) -> None:
    if event not in REACHING:
        return
    address = arguments[REACHING[event]]
    if _outside(address):
        with open(os.environ["OUTSIDE_LOG"], "a", encoding="utf-8") as log:
            log.write(f"{event} {address}\n")
        time.sleep(float(os.environ.get("OUTSIDE_WAIT", "0")))
        raise TimeoutError("nothing outside is reached here")


if os.environ.get("OUTSIDE_LOG"):
    sys.addaudithook(_asked)
