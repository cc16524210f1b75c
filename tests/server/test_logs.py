"""What a browser makes the server write into its log, over a real socket."""

import re
from pathlib import Path

from streamlit.proto.BackMsg_pb2 import BackMsg

from tests.server.test_offered_files import ANNA, finished, tab
from tests.support.app_server import serving
from ui.server.logs import LONGEST, PER_SESSION


def test_a_session_that_forges_widget_messages_writes_a_few_lines_a_minute(tmp_path: Path) -> None:
    with serving(tmp_path) as served, tab(served.url, ANNA, "") as (socket, drawn):
        widgets = re.findall(r'id: "(\$\$[^"]+)"', drawn)
        before = served.log.stat().st_size
        for number in range(20):
            forged = BackMsg()
            state = forged.rerun_script.widget_states.widgets.add()
            state.id, state.json_value = widgets[number % len(widgets)], "{no json"
            socket.send(forged.SerializeToString())
            finished(socket)
        log = served.log.read_text()[before:]
    assert 1 <= log.count("Uncaught app execution") <= PER_SESSION, "a few, not none"
    assert len(log) < PER_SESSION * (LONGEST + 200)
