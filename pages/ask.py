"""Ask a question and watch its run: the conversation on the left, the evidence on the right."""

from ui.app import navigation
from ui.app.session import Session
from ui.ask import conversation, runview, welcome
from ui.kit import picker, problems

navigation.enter("ask")
with problems.reported(stop=True):
    session = Session()
    empty = session.library.size[0] == 0

picked = picker.clicked()
with problems.reported():
    conversation.follow(session, picked)

conversation.sidebar(session)
run = session.attach()
if run is None:
    welcome.show(session, empty=empty)
else:
    with problems.reported():
        runview.show(session, run)
