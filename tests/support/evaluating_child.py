"""A process that evaluates a stored question set until it is done or killed, with parts that answer at once.

Arguments: the data folder, the set's id. Prints one line a result: its question's id, once it is stored.
"""

import sys
from pathlib import Path

from crag.analysis.evaluate import evaluate
from crag.core.protocols import RunRequest
from tests.support.evaluation_makers import instant_engine


def main(folder: str, set_id: str) -> None:
    engine = instant_engine(Path(folder))
    for event in evaluate(engine, set_id, RunRequest("", "balanced")):
        if event.row is not None:
            sys.stdout.write(event.row.question_id + "\n")
            sys.stdout.flush()
    engine.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
