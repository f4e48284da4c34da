"""Evaluating in a job: each topic once, whatever becomes of the worker, as its creator may read."""

import os
import signal
import subprocess
import sys
from datetime import timedelta

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.db.models.functions import Now

from ingest.errors import JobNotOpen
from ingest.evaluation_changes import ask_for_repetition, ask_for_run, remove_run
from ingest.jobs import evaluate
from ingest.jobs.request import cancel, request_embedding, retry
from ingest.models import Job
from kebab.api.errors import NotFound, Unprocessable
from kebab.people.access import Caller, access_for, token_access
from kebab.people.models import AuditEvent, Group, Membership, Role
from kebab.people.operator import the_operator
from kebab.people.revocation import revoke_token
from kebab.people.tokens import mint_token
from search.evaluation.judged import JudgedTopic, Qrel
from search.evaluation.runs import run_of
from search.evaluation.settings import RunSettings
from search.evaluation.topic_sets import keep_topics
from search.models import Run, RunTopic, Source
from search.retrieval.errors import InvalidFilter
from tests.integration.ingest.jobs.test_job_failpoints import WORKER
from tests.support.actors import make_member
from tests.support.corpus import make_workspace, restrict, write
from tests.support.jobs import work

LEXICAL = RunSettings.of({"mode": "lexical"})
PATHS = ("apples.md", "pears.md", "plums.md", "quinces.md")


class Killed(BaseException):
    """What a worker is killed by."""


@pytest.fixture
def workspace(transactional_db, mirrors):
    made = make_workspace()
    for path in PATHS:
        write(made, path, f"the {path.removesuffix('.md')} were picked in autumn")
    made.refresh_from_db()
    keep_topics(the_operator(made), topics())
    return made


def topics():
    """A topic for each document, and one that nothing answers."""
    judged = [
        JudgedTopic(
            topic_id=path.removesuffix(".md"), text=path.removesuffix(".md"), qrels=(Qrel(path=path),)
        )
        for path in PATHS
    ]
    return [*judged, JudgedTopic(topic_id="zebras", text="zebras", is_unanswerable=True)]


def ask(workspace, access=None, **options):
    given = {"topic_set": "golden", "settings": LEXICAL, **options}
    return ask_for_run(access or the_operator(workspace), **given)


def job_of(run):
    return Job.objects.get(pk=Run.objects.get(pk=run.pk).job_id)


def rows(run):
    return {row.topic_id: row for row in RunTopic.objects.filter(run=run.pk)}


def token(workspace, *scopes, groups=()):
    made, _ = mint_token(workspace, scopes=scopes, groups=groups)
    return made, token_access(Caller(token=made), made)


def abandon(job):
    """Have the lease of the one that died run out."""
    Job.objects.filter(pk=job.pk).update(lease_until=Now() - timedelta(seconds=1), due_at=Now())


def test_every_topic_is_asked_and_the_run_has_its_figures(workspace):
    run = ask(workspace, name="first")
    queued = job_of(run)
    assert (run.state, queued.kind, queued.items_total) == ("queued", "evaluate", 5)

    ended = work(queued)
    run.refresh_from_db()
    assert (ended.state, ended.items_done, ended.calls, ended.current_path) == ("succeeded", 5, 5, "zebras")
    assert (run.state, run.figures["topics"], run.figures["measures"]["nDCG@10"]) == ("succeeded", 5, 1.0)
    assert run.figures["measures"]["refused_right"] == 1.0
    assert rows(run)["pears"].ranking[0][2] == "pears.md"
    assert AuditEvent.objects.get(action="run.asked").subject == str(run.pk)


def test_what_was_written_just_before_is_found(workspace):
    write(workspace, "zebras.md", "a zebra among zebras")
    run = ask(workspace)
    work(job_of(run))

    assert rows(run)["zebras"].ranking[0][2] == "zebras.md"


def test_a_worker_that_is_killed_is_gone_on_for(workspace, mirrors):
    run = ask(workspace)
    job = job_of(run)
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "kebab.settings",
        "KEBAB_FAILPOINT": "after_topic",
        "KEBAB_MIRROR_DIR": str(mirrors),
    }
    arguments = [
        sys.executable,
        "-c",
        WORKER,
        connection.settings_dict["NAME"],
        str(workspace.pk),
        str(job.pk),
    ]
    killed = subprocess.run(arguments, env=environment, cwd=django_settings.BASE_DIR, timeout=60, check=False)
    assert killed.returncode == -signal.SIGKILL
    run.refresh_from_db()
    # It died before the first topic was committed.
    assert (run.state, Job.objects.get().items_done, Job.objects.get().state) == ("running", 0, "running")

    abandon(job)
    ended = work(job)
    assert (ended.state, ended.attempt, ended.items_done) == ("succeeded", 2, 5)
    assert RunTopic.objects.filter(run=run.pk).count() == 5


def test_what_was_asked_before_a_kill_is_not_asked_again(workspace, monkeypatch):
    run, advanced = ask(workspace), []
    advance = evaluate._Counter.advance

    def die_at_the_third(counter):
        advanced.append(1)
        if len(advanced) == 3:
            raise Killed
        advance(counter)

    monkeypatch.setattr(evaluate._Counter, "advance", die_at_the_third)
    with pytest.raises(Killed):
        work(job_of(run))
    kept = {name: row.ms for name, row in rows(run).items() if row.ranking is not None}
    assert (len(kept), job_of(run).items_done) == (2, 2)

    monkeypatch.setattr(evaluate._Counter, "advance", advance)
    abandon(job_of(run))
    ended = work(job_of(run))
    run.refresh_from_db()
    assert (ended.state, ended.items_done, ended.calls) == ("succeeded", 5, 5)
    assert {name: row.ms for name, row in rows(run).items() if name in kept} == kept
    assert (run.figures["topics"], run.figures["measures"]["nDCG@10"]) == (5, 1.0)


def test_a_worker_that_dies_between_the_runs_end_and_the_jobs_leaves_nothing_to_do(workspace):
    run = ask(workspace)
    Run.objects.filter(pk=run.pk).update(state="succeeded", finished_at=Now())
    assert work(job_of(run)).state == "succeeded"
    assert all(row.ranking is None for row in rows(run).values())


def test_a_queued_run_is_cancelled_with_its_job(workspace):
    run = ask(workspace)
    assert cancel(job_of(run)).state == "cancelled"
    run.refresh_from_db()
    assert (run.state, run.finished_at is not None) == ("cancelled", True)


def test_a_running_job_ends_at_the_next_topic_and_its_run_with_it(workspace, monkeypatch):
    run, advance = ask(workspace), evaluate._Counter.advance

    def cancel_after(counter):
        advance(counter)
        Job.objects.update(cancel_requested=True)

    monkeypatch.setattr(evaluate._Counter, "advance", cancel_after)
    ended = work(job_of(run))
    run.refresh_from_db()
    assert (ended.state, ended.items_done, run.state) == ("cancelled", 1, "cancelled")


@pytest.fixture
def failed(workspace, monkeypatch):
    """A run that failed at its third topic."""
    run, advanced = ask(workspace), []
    advance = evaluate._Counter.advance

    def fail_at_the_third(counter):
        advanced.append(1)
        if len(advanced) == 3:
            raise InvalidFilter("The filter can't be asked.")
        advance(counter)

    with monkeypatch.context() as patched:
        patched.setattr(evaluate._Counter, "advance", fail_at_the_third)
        work(job_of(run))
    run.refresh_from_db()
    return run


def test_a_job_that_fails_says_why_and_so_does_its_run(failed):
    assert (job_of(failed).state, job_of(failed).error) == ("failed", "The filter can't be asked.")
    assert (failed.state, failed.error) == ("failed", "The filter can't be asked.")


def test_a_retry_goes_on_with_the_run(failed):
    again = retry(job_of(failed), requested_by="a@example.org")
    failed.refresh_from_db()
    assert (again.items_total, failed.state, failed.job_id, failed.error) == (3, "queued", again.pk, "")

    ended = work(again)
    failed.refresh_from_db()
    assert (ended.state, ended.items_done, failed.state) == ("succeeded", 3, "succeeded")
    assert failed.figures["topics"] == 5


def test_a_run_is_retried_by_one_job_at_a_time(failed):
    first = job_of(failed)
    retry(first)
    with pytest.raises(JobNotOpen, match="queued"):
        retry(first)


def test_the_job_of_a_deleted_run_can_not_be_retried(failed, workspace):
    job = job_of(failed)
    remove_run(the_operator(workspace), failed)
    with pytest.raises(JobNotOpen, match="gone"):
        retry(job)


def test_what_has_succeeded_is_not_retried(workspace):
    job = work(job_of(ask(workspace)))
    with pytest.raises(JobNotOpen, match="Nothing failed"):
        retry(job)


def test_a_job_that_makes_no_progress_is_given_up_and_its_run_fails(workspace):
    run = ask(workspace)
    Job.objects.update(stalled_attempts=8)
    ended = work(job_of(run))
    run.refresh_from_db()
    assert (ended.state, run.state) == ("failed", "failed")
    assert "Given up" in run.error


def test_deleting_a_queued_run_cancels_its_job(workspace):
    run = ask(workspace)
    job = job_of(run)
    remove_run(the_operator(workspace), run)
    job.refresh_from_db()
    assert (job.state, Run.objects.count(), RunTopic.objects.count()) == ("cancelled", 0, 0)
    assert AuditEvent.objects.get(action="run.deleted").subject == str(run.pk)


def test_deleting_a_running_run_ends_its_job(workspace, monkeypatch):
    run, advance = ask(workspace), evaluate._Counter.advance
    job = job_of(run)

    def delete_after(counter):
        advance(counter)
        monkeypatch.setattr(evaluate._Counter, "advance", advance)
        Job.objects.update(cancel_requested=True)
        Run.objects.filter(pk=run.pk).delete()

    monkeypatch.setattr(evaluate._Counter, "advance", delete_after)
    assert work(job).state == "cancelled"
    assert RunTopic.objects.count() == 0


def test_a_long_run_makes_room_for_other_jobs_and_goes_on_after(workspace, monkeypatch):
    monkeypatch.setattr(evaluate, "_TURN_S", -1.0)
    run, other = ask(workspace), ask(make_other())
    begun = work(job_of(run))
    assert (begun.state, begun.items_done) == ("running", 0)

    monkeypatch.undo()
    request_embedding(workspace.pk)  # has workers of its own: not what is made room for
    assert [work(job_of(each)).state for each in (other, run)] == ["succeeded", "succeeded"]


def make_other():
    other = make_workspace()
    keep_topics(the_operator(other), [JudgedTopic(topic_id="q", text="apples")])
    return other


def test_a_run_finds_what_its_creator_may_read(workspace):
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


def test_who_loses_a_source_loses_the_runs_that_name_it(workspace):
    write(workspace, "later.md", "apples again", source="later")
    workspace.refresh_from_db()
    _, access = token(workspace, "manage")
    run = ask(workspace, access)
    work(job_of(run))
    assert run_of(access, run.pk).pk == run.pk
    restrict(Source.objects.get(key="later"))

    with pytest.raises(NotFound):
        run_of(access, run.pk)
    assert run_of(the_operator(workspace), run.pk).pk == run.pk


def test_a_run_of_a_token_that_was_revoked_is_not_carried_out(workspace):
    made, access = token(workspace, "manage")
    run = ask(workspace, access)
    revoke_token(made)
    ended = work(job_of(run))
    run.refresh_from_db()
    assert (ended.state, run.state) == ("failed", "failed")
    assert "may not evaluate" in run.error


@pytest.mark.parametrize(("role", "state"), [(Role.ADMIN, "succeeded"), (Role.EDITOR, "failed")])
def test_a_run_of_somebody_who_was_demoted_is_not_carried_out(workspace, role, state):
    person = make_member(workspace, Role.ADMIN)
    access = the_access(workspace, person)
    run = ask(workspace, access)
    Membership.objects.filter(user=person).update(role=role)
    assert work(job_of(run)).state == state


@pytest.mark.parametrize("is_active", [True, False])
def test_a_run_of_somebody_who_was_deactivated_is_not_carried_out(workspace, is_active):
    person = make_member(workspace, Role.OWNER)
    run = ask(workspace, the_access(workspace, person))
    person.is_active = is_active
    person.save()
    assert work(job_of(run)).state == ("succeeded" if is_active else "failed")


def the_access(workspace, person):
    return access_for(Caller(user=person), workspace.slug)


def test_a_set_without_topics_is_refused(workspace):
    with pytest.raises(Unprocessable, match="no topic in the set 'silver'"):
        ask(workspace, topic_set="silver")
    assert not Job.objects.exists()


def test_a_repetition_asks_the_same_topics_whatever_became_of_the_set(workspace):
    run = ask(workspace, name="before")
    work(job_of(run))
    keep_topics(the_operator(workspace), [JudgedTopic(topic_id="more", text="more")])
    again = ask_for_repetition(the_operator(workspace), run, name="after")
    work(job_of(again))
    again.refresh_from_db()

    assert (again.name, again.settings, set(rows(again))) == ("after", run.settings, set(rows(run)))
    assert again.figures["measures"]["nDCG@10"] == 1.0
