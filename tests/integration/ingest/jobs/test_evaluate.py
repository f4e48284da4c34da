"""An evaluation job asks each topic once, also after crashes, with the rights of its creator."""

import signal

import pytest
from django.db.models.functions import Now

from ingest.errors import JobNotOpen
from ingest.jobs.kinds import evaluate
from ingest.jobs.queue.request import cancel, request_embedding
from ingest.jobs.queue.schedule import retry
from ingest.models import Job
from ingest.services.evaluation import cancel_and_delete_run, request_repetition, request_run
from kebab.errors import NotFound, Unprocessable
from kebab.identity.caller import Caller, caller_access, token_access
from kebab.identity.models import AuditEvent, Group, Membership, Role
from kebab.identity.tokens import mint_token
from kebab.people.operator import command_line_access
from kebab.people.token_lifecycle import mark_revoked
from search.evaluation.judged import JudgedTopic, Qrel
from search.evaluation.runs import get_run
from search.evaluation.settings import RunSettings
from search.evaluation.topic_sets import store_topics
from search.models import Run, RunTopic, Source
from search.retrieval.errors import InvalidFilter
from tests.integration.ingest.jobs.processes import run_job_in_process
from tests.support.actors import make_member
from tests.support.corpus import make_workspace, restrict, write
from tests.support.jobs import Killed, die, expire, work

LEXICAL = RunSettings.of({"mode": "lexical"})
PATHS = ("apples.md", "pears.md", "plums.md", "quinces.md")


@pytest.fixture
def workspace(transactional_db, mirrors):
    made = make_workspace()
    for path in PATHS:
        write(made, path, f"the {path.removesuffix('.md')} were picked in autumn")
    made.refresh_from_db()
    store_topics(command_line_access(made), topics())
    return made


def topics():
    """Return a topic for each document, and one without a relevant hit."""
    names = [path.removesuffix(".md") for path in PATHS]
    judged = [JudgedTopic(topic_id=name, text=name, qrels=(Qrel(path=f"{name}.md"),)) for name in names]
    return [*judged, JudgedTopic(topic_id="zebras", text="zebras", is_unanswerable=True)]


def ask(workspace, access=None, **options):
    given = {"topic_set": "golden", "settings": LEXICAL, **options}
    return request_run(access or command_line_access(workspace), **given)


def job_of(run):
    return Job.objects.get(pk=Run.objects.get(pk=run.pk).job_id)


def work_off(run):
    """Run the job of the evaluation; return both as they are then."""
    job = work(job_of(run))
    run.refresh_from_db()
    return job, run


def rows(run):
    return {row.topic_id: row for row in RunTopic.objects.filter(run=run.pk)}


def token(workspace, *scopes, groups=()):
    made, _ = mint_token(workspace, scopes=scopes, groups=groups)
    return made, token_access(Caller(token=made), made)


@pytest.fixture
def at_topic(monkeypatch):
    """Return a function that registers a call at the topic with a number."""
    advance, advanced = evaluate._TopicCounter.advance, []

    def at(number, call, *, before=True):
        def advance_and_call(counter):
            advanced.append(1)
            if before and len(advanced) == number:
                call()
            advance(counter)
            if not before and len(advanced) == number:
                call()

        monkeypatch.setattr(evaluate._TopicCounter, "advance", advance_and_call)

    return at


def test_every_topic_is_asked_and_the_run_has_its_figures(workspace):
    run = ask(workspace, name="first")
    queued = job_of(run)
    assert (run.state, queued.kind, queued.items_total) == ("queued", "evaluate", 5)

    ended, run = work_off(run)
    assert (ended.state, ended.items_done, ended.calls, ended.current_path) == ("succeeded", 5, 5, "zebras")
    assert (run.state, run.figures["topics"], run.figures["measures"]["nDCG@10"]) == ("succeeded", 5, 1.0)
    assert run.figures["measures"]["refused_right"] == 1.0
    assert rows(run)["pears"].ranking[0][2] == "pears.md"
    assert AuditEvent.objects.get(action="run.asked").subject == str(run.pk)
    with pytest.raises(JobNotOpen):
        retry(ended)

    write(workspace, "zebras.md", "a zebra among zebras")
    _, later = work_off(ask(workspace))
    assert rows(later)["zebras"].ranking[0][2] == "zebras.md"


@pytest.mark.slow
def test_run_of_a_killed_process_is_finished_by_the_next(workspace, mirrors):
    run = ask(workspace)
    job = job_of(run)
    killed = run_job_in_process(job, KEBAB_FAILPOINT="after_topic", KEBAB_MIRROR_DIR=str(mirrors))
    assert killed == -signal.SIGKILL
    run.refresh_from_db()
    # It died before the first topic was committed.
    assert (run.state, Job.objects.get().items_done, Job.objects.get().state) == ("running", 0, "running")

    expire(job)
    ended = work(job)
    assert (ended.state, ended.attempt, ended.items_done) == ("succeeded", 2, 5)
    assert RunTopic.objects.filter(run=run.pk).count() == 5


def test_topics_that_were_asked_before_a_kill_are_not_asked_again(workspace, at_topic):
    run = ask(workspace)
    at_topic(3, die)
    with pytest.raises(Killed):
        work(job_of(run))
    kept = {name: row.ms for name, row in rows(run).items() if row.ranking is not None}
    assert (len(kept), job_of(run).items_done) == (2, 2)

    expire(job_of(run))
    ended, run = work_off(run)
    assert (ended.state, ended.items_done, ended.calls) == ("succeeded", 5, 5)
    assert {name: row.ms for name, row in rows(run).items() if name in kept} == kept
    assert (run.figures["topics"], run.figures["measures"]["nDCG@10"]) == (5, 1.0)


def test_run_is_cancelled_with_its_job_queued_or_at_the_next_topic(workspace, at_topic):
    run = ask(workspace)
    assert cancel(job_of(run)).state == "cancelled"
    run.refresh_from_db()
    assert (run.state, run.finished_at is not None) == ("cancelled", True)

    at_topic(1, lambda: Job.objects.update(cancel_requested=True), before=False)
    ended, run = work_off(ask(workspace))
    assert (ended.state, ended.items_done, run.state) == ("cancelled", 1, "cancelled")


def test_job_whose_run_has_ended_already_asks_nothing(workspace):
    run = ask(workspace)
    Run.objects.filter(pk=run.pk).update(state="succeeded", finished_at=Now())
    assert work(job_of(run)).state == "succeeded"
    assert all(row.ranking is None for row in rows(run).values())


@pytest.fixture
def failed_run(workspace, at_topic):
    """Return a run that failed at its third topic."""

    def fail():
        raise InvalidFilter("The filter can't be asked.")

    at_topic(3, fail)
    return work_off(ask(workspace))[1]


def test_failed_run_is_resumed_by_one_retry_at_a_time(failed_run):
    assert job_of(failed_run).state == failed_run.state == "failed"
    assert job_of(failed_run).error == failed_run.error == "The filter can't be asked."
    first = job_of(failed_run)
    again = retry(first, requested_by="a@example.org")
    failed_run.refresh_from_db()
    assert (again.items_total, failed_run.state, failed_run.job_id, failed_run.error) == (
        3,
        "queued",
        again.pk,
        "",
    )
    with pytest.raises(JobNotOpen):
        retry(first)

    ended, run = work_off(failed_run)
    assert (ended.state, ended.items_done, run.state) == ("succeeded", 3, "succeeded")
    assert run.figures["topics"] == 5


def test_job_that_makes_no_progress_is_given_up_and_its_run_fails(workspace):
    run = ask(workspace)
    Job.objects.update(stalled_attempts=8)
    ended, run = work_off(run)
    assert (ended.state, run.state, run.error) == ("failed", "failed", ended.error)


def test_deleting_a_run_cancels_its_job(workspace, failed_run, at_topic):
    def delete():
        Job.objects.update(cancel_requested=True)
        Run.objects.filter(pk=running.pk).delete()

    run = ask(workspace)
    job = job_of(run)
    cancel_and_delete_run(command_line_access(workspace), run)
    job.refresh_from_db()
    assert (job.state, RunTopic.objects.exclude(run=failed_run).count()) == ("cancelled", 0)
    assert AuditEvent.objects.get(action="run.deleted").subject == str(run.pk)

    job = job_of(failed_run)
    cancel_and_delete_run(command_line_access(workspace), failed_run)
    with pytest.raises(JobNotOpen):
        retry(job)

    running = ask(workspace)
    at_topic(4, delete, before=False)
    assert work(job_of(running)).state == "cancelled"
    assert (Run.objects.count(), RunTopic.objects.count()) == (0, 0)


def test_long_run_yields_to_other_jobs_and_resumes(workspace, monkeypatch):
    monkeypatch.setattr(evaluate, "_TURN_S", -1.0)
    other = make_workspace()
    store_topics(command_line_access(other), [JudgedTopic(topic_id="q", text="apples")])
    run, others = ask(workspace), ask(other)
    running_job = work(job_of(run))
    assert (running_job.state, running_job.items_done) == ("running", 0)

    monkeypatch.undo()
    request_embedding(workspace.pk)  # has workers of its own: not what is made room for
    assert [work(job_of(each)).state for each in (others, run)] == ["succeeded", "succeeded"]


def test_run_finds_what_its_creator_may_read(workspace):
    group = Group.objects.create(workspace=workspace, name="fruit")
    write(workspace, "secret.md", "more apples, apples, apples", source="closed")
    restrict(Source.objects.get(key="closed"), group)
    _, outside = token(workspace, "manage")
    _, inside = token(workspace, "manage", groups=[group])
    found = {}
    for access in (outside, inside):
        run = ask(workspace, access)
        work(job_of(run))
        found[access.identity] = {entry[2] for entry in rows(run)["apples"].ranking}

    assert "secret.md" not in found[outside.identity]
    assert "secret.md" in found[inside.identity]


def test_reader_who_loses_a_source_loses_the_runs_that_name_it(workspace):
    write(workspace, "later.md", "apples again", source="later")
    workspace.refresh_from_db()
    _, access = token(workspace, "manage")
    run = ask(workspace, access)
    work(job_of(run))
    assert get_run(access, run.pk).pk == run.pk
    restrict(Source.objects.get(key="later"))

    with pytest.raises(NotFound):
        get_run(access, run.pk)
    assert get_run(command_line_access(workspace), run.pk).pk == run.pk


def test_run_of_a_caller_who_lost_the_right_fails(workspace, subtests):
    def deactivate(person):
        person.is_active = False
        person.save()

    def assign(role):
        return lambda person: Membership.objects.filter(user=person).update(role=role)

    for name, change, state in (
        ("unchanged", lambda person: None, "succeeded"),
        ("admin", assign(Role.ADMIN), "succeeded"),
        ("editor", assign(Role.EDITOR), "failed"),
        ("deactivated", deactivate, "failed"),
    ):
        with subtests.test(change=name):
            person = make_member(workspace, Role.OWNER)
            run = ask(workspace, caller_access(Caller(user=person), workspace.slug))
            change(person)
            assert work(job_of(run)).state == state

    made, access = token(workspace, "manage")
    run = ask(workspace, access)
    mark_revoked(made)
    ended, run = work_off(run)
    assert (ended.state, run.state, run.error) == ("failed", "failed", ended.error)
    assert all(row.ranking is None for row in rows(run).values())


def test_set_without_topics_is_refused(workspace):
    with pytest.raises(Unprocessable, match="'silver'"):
        ask(workspace, topic_set="silver")
    assert not Job.objects.exists()


def test_repeated_run_uses_the_topics_of_the_first_run(workspace):
    run = ask(workspace, name="before")
    work(job_of(run))
    store_topics(command_line_access(workspace), [JudgedTopic(topic_id="more", text="more")])
    _, again = work_off(request_repetition(command_line_access(workspace), run, name="after"))

    assert (again.name, again.settings, set(rows(again))) == ("after", run.settings, set(rows(run)))
    assert again.figures["measures"]["nDCG@10"] == 1.0
