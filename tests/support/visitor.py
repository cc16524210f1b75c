"""A browser's first visit without a browser: one page asked for over Streamlit's socket, until its script has ended."""

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect


def visit(url: str, query: str = "", page: str = "", *, cookies: str = "", token: str = "") -> list[ForwardMsg]:
    """What the server sends a new visitor who opens a page, the front one for "", with this query (without its "?").

    `token`: against forged requests, as the page sends it with its `cookies`.
    """
    ask = BackMsg()
    ask.rerun_script.query_string, ask.rerun_script.page_name = query, page
    address = url.replace("http://", "ws://") + "/_stcore/stream"
    protocols, headers = ["streamlit", *([token] if token else [])], {"cookie": cookies} if cookies else {}
    with connect(address, origin=url, subprotocols=protocols, additional_headers=headers, max_size=None) as socket:
        socket.send(ask.SerializeToString())
        return until_finished(socket)


def until_finished(socket: ClientConnection) -> list[ForwardMsg]:
    """All that comes until the script has ended."""
    received: list[ForwardMsg] = []
    while not received or received[-1].WhichOneof("type") != "script_finished":
        message = ForwardMsg()
        message.ParseFromString(socket.recv(timeout=60))
        received.append(message)
    return received


def texts(received: list[ForwardMsg]) -> str:
    """All that was drawn, as one text."""
    return "\n".join(str(message.delta) for message in received if message.WhichOneof("type") == "delta")


def key_of(received: list[ForwardMsg]) -> str:
    """The key that the server put into the address."""
    for message in reversed(received):
        if message.WhichOneof("type") == "page_info_changed":
            return message.page_info_changed.query_string.partition("w=")[2].partition("&")[0]
    return ""
