"""The command that lets the evaluator learn from a library's labels."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from typer import Option

from crag.analysis.adaptation import Learned, learn_from, use_adaptation
from crag.analysis.evaluate import add_set
from crag.analysis.questions.sets import read_set
from crag.analysis.thresholds.recommend import same_question
from crag.cli.options import Place, read_file, record_command
from crag.cli.output import Output, plain
from crag.core.errors import PROGRAM, SettingsError
from crag.evaluation.adaptation import read_adaptation
from crag.messages.tuning import HOW, learned_sentences, use_sentence
from crag.text.formats import count


def adapt(
    place: Place,
    output: Output,
    labels: Annotated[
        Path | None, Option(metavar="SET", help="add this question set first: CSV, JSON Lines or JSON")
    ] = None,
    apply: Annotated[bool, Option("--apply", help="use what helps from the next question on")] = False,
    remove: Annotated[bool, Option("--remove", help="use the shipped scores from the next question on")] = False,
) -> int:
    """From the runs of the library that thumbs or a question set judge; nothing is graded. Shows what would change, on
    labels left out, and changes nothing without --apply. 0, or 1 where --apply finds nothing that helps."""
    if apply and remove:
        raise SettingsError("--apply and --remove are opposites.", "Give one of them.")
    with place.opened() as (engine, library):
        if remove:
            library.labels.delete_adaptation()
            record_command(engine, place.target, "setting", "adaptation", "removed")
            output.show({"status": "removed"}, use_sentence(None, engine.evaluator.id))
            return 0
        if labels is not None:
            found = read_set(labels.name, read_file(labels, "Check the path."))
            add_set(library, found)
            asked = {same_question(each) for each in library.runs.questions(library.runs.ids()).values()}
            left = sum(same_question(each.question) not in asked for each in found.questions)
            if left:
                command = f"{PROGRAM} evaluate {labels}"
                output.note(f"{count(left, 'question')} of the set were never asked here. Ask them first: {command}")
        learned = learn_from(library, engine.evaluator.id)
        used = learned.adaptation
        if apply and used is not None:
            use_adaptation(library, used)
            record_command(engine, place.target, "setting", "adaptation", used.id)
        stored = read_adaptation(library.labels.adaptation())
        said = use_sentence(stored, engine.evaluator.id)
    output.show(
        {**_record(learned), "applied": apply and used is not None, "in_use": said},
        "\n".join(map(plain, [*learned_sentences(learned), said])),
    )
    output.note(HOW)
    return int(apply and used is None)


def _record(learned: Learned) -> dict[str, object]:
    return {**{name: asdict(getattr(learned, name)) for name in ("chunks", "sets")}, "deleted": learned.deleted}
