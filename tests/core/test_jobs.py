"""A job runs on whoever watches: following, stopping, failing, evicting."""

import subprocess
import sys
import threading
import weakref
from pathlib import Path

import pytest

from crag.core.errors import StorageError
from crag.runtime.jobs import Job, Jobs
from tests.support.eventually import eventually

ROOT = Path(__file__).resolve().parents[2]


def run(jobs: Jobs, work) -> Job:
    return jobs.start("run", "q", work, workspace="w")


def test_followers_see_every_event_in_order_and_the_end():
    jobs, go = Jobs(), threading.Event()

    def work(cancel, emit):
        emit(1)
        go.wait(60)
        emit(2)
        emit(3)

    job = run(jobs, work)
    assert job.first(10) == 1 and job.running
    seen = []
    for fresh in job.follow(beat=0.01):
        seen += fresh
        go.set()
    assert seen == [1, 2, 3] and not job.running
    assert [event for fresh in job.follow() for event in fresh] == [1, 2, 3], "a later follower sees all of it too"


def test_a_beat_comes_without_events_so_that_the_page_stays_alive():
    jobs, go = Jobs(), threading.Event()
    job = run(jobs, lambda cancel, emit: go.wait(60))
    beats = job.follow(beat=0.01)
    assert next(beats) == [] and next(beats) == []
    go.set()
    assert list(beats)[-1] == []


def test_an_abandoned_follower_harms_nothing():
    jobs, go = Jobs(), threading.Event()

    def work(cancel, emit):
        emit("a")
        go.wait(60)
        emit("b")

    job = run(jobs, work)
    follower = job.follow(beat=0.01)
    next(follower)
    follower.close()
    go.set()
    assert [event for fresh in job.follow() for event in fresh] == ["a", "b"]


def test_a_failure_is_kept_in_words_and_a_defect_too():
    jobs = Jobs()

    def refuse(cancel, emit):
        raise StorageError("The disk is full.")

    def defect(cancel, emit):
        raise ZeroDivisionError("secret detail")

    refused, broken = run(jobs, refuse), run(jobs, defect)
    for job in (refused, broken):
        list(job.follow())
    assert refused.problem.message == "The disk is full."
    assert "ZeroDivisionError" in broken.problem.message and "secret" not in str(broken.problem)
    assert refused.first(0) is None


class Upload:
    """Stands for the bytes of a file."""

    def __init__(self, fails: bool) -> None:
        self.fails = fails

    def __call__(self, cancel, emit):
        if self.fails:
            raise StorageError("The disk is full.", "Make room.")


@pytest.mark.parametrize("fails", [False, True])
def test_a_job_that_is_over_holds_nothing_of_what_it_worked_on(fails: bool) -> None:
    jobs, upload = Jobs(), Upload(fails)
    job, held = run(jobs, upload), weakref.ref(upload)
    del upload
    assert [event for fresh in job.follow() for event in fresh] == []
    eventually(lambda: held() is None)
    assert jobs.get(job.id, workspace="w") is job and bool(job.problem) is fails


def test_ids_are_unguessable_unless_given_and_a_job_can_be_dropped():
    jobs = Jobs()
    made = [run(jobs, lambda cancel, emit: None) for _ in range(20)]
    assert len({job.id for job in made}) == 20 and min(len(job.id) for job in made) >= 16
    named = jobs.begin(Job("run", "its run", lambda cancel, emit: None, "w", id="its-run"))
    assert jobs.get("its-run", workspace="w") is named and jobs.get("nobody", workspace="w") is None
    jobs.drop(lambda job: job is named)
    assert jobs.get("its-run", workspace="w") is None and jobs.get(made[0].id, workspace="w") is made[0]


def test_old_jobs_are_evicted_and_running_ones_never():
    jobs, go = Jobs(keep=3), threading.Event()
    slow = jobs.start("upload", "slow", lambda cancel, emit: go.wait(60), workspace="w")
    over = []
    for _ in range(6):
        over.append(run(jobs, lambda cancel, emit: None))
        list(over[-1].follow())
    run(jobs, lambda cancel, emit: None)
    assert jobs.get(slow.id, workspace="w") is slow and jobs.running("upload") == [slow]
    assert [jobs.get(job.id, workspace="w") is None for job in over] == [True, True, True, False, False, False]
    go.set()


def test_a_job_is_found_from_its_own_workspace_only():
    jobs, go = Jobs(), threading.Event()
    mine = run(jobs, lambda cancel, emit: go.wait(60))
    assert jobs.get(mine.id, workspace="w") is mine and jobs.get(mine.id, workspace="v") is None
    assert jobs.running("run", workspace="w") == [mine] == jobs.running() and not jobs.running(workspace="v")
    go.set()


def asking(answers: list[bool], **chosen) -> Job:
    """A job, under way, that asks once for each place in `answers` and puts there what it was told."""

    def work(cancel, emit):
        for place in range(len(answers)):
            emit(f"asks {place + 1}")
            answers[place] = job.ask("May it leave?")

    job = Job("run", "q", work, "w", **chosen)
    return Jobs().begin(job)


def test_a_job_waits_for_its_persons_word_and_the_first_answer_counts():
    answers = [False, True]
    job = asking(answers)
    job.first(10)
    assert not job.answered(1)
    job.answer(1, True)
    job.answer(1, False)
    while job.events()[-1] != "asks 2":
        next(job.follow(beat=0.01))
    job.answer(1, True)
    assert job.answered(1) and not job.answered(2) and job.running, "an answer to a question of before is no answer"
    job.answer(2, False)
    job.answer(2, True)
    assert [event for fresh in job.follow() for event in fresh] == ["asks 1", "asks 2"]
    assert answers == [True, False]
    job.answer(3, True)
    assert not job.running


def test_an_answer_that_comes_before_the_question_is_reached_is_not_lost():
    answers = [False]
    held = threading.Event()

    def work(cancel, emit):
        emit("asks")
        held.wait(60)
        answers[0] = job.ask("May it leave?")

    job = Job("run", "q", work, "w")
    Jobs().begin(job)
    job.first(10)
    job.answer(1, True)
    held.set()
    list(job.follow())
    assert answers == [True]


def test_stop_is_a_no_at_once_even_after_a_yes_of_another_tab():
    answers = [True]
    job = asking(answers)
    job.first(10)
    job.stop()
    job.answer(1, True)
    list(job.follow())
    assert answers == [False]


def test_silence_is_a_no_in_the_end():
    answers = [True]
    job = asking(answers, patience=0.01)
    assert list(job.follow()) and answers == [False] and job.answered(1)


WAITS_FOREVER = """
from concurrent.futures import ThreadPoolExecutor
from crag.runtime.jobs import Job, Jobs
from tests.support.eventually import eventually

def work(cancel, emit):
    emit("asks")
    ThreadPoolExecutor(1).submit(job.ask, "May it leave?").result()

job = Job("run", "q", work, "w")
Jobs().begin(job)
job.first(10)
print("the end")
"""


def test_a_process_can_end_while_a_job_waits_for_its_person():
    ran = subprocess.run([sys.executable, "-c", WAITS_FOREVER], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "the end\n", "")
