"""A job's page in a real browser follows the job to its end."""

import re

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from ingest.models import Job
from search.corpus import ensure_source
from tests.api.mcp.web_server import running_web_server
from tests.support.browser import listen, needs_browser, session_cookie

pytestmark = [*needs_browser, pytest.mark.django_db(transaction=True)]

LIST = "/w/handbook/jobs"


@pytest.fixture
def page(browser, editor):
    """Yield the editor's page on a server that streams; messages on its console fail the test."""
    complaints = []
    with running_web_server() as url:
        context = browser.new_context(base_url=url)
        context.add_cookies([session_cookie(editor, url)])
        page = context.new_page()
        listen(page, url, complaints)
        yield page
        context.close()
    assert complaints == []


@pytest.fixture
def running(workspace):
    source = ensure_source(workspace, "docs", kind="folder", config={"path": "/d"})
    return Job.objects.create(
        workspace=workspace, kind="sync_source", source=source, state="running", started_at=timezone.now()
    )


@pytest.fixture
def quiet_page(browser, live_server, editor):
    """Yield the editor's page on a server that may not stream; messages on its console are allowed."""
    context = browser.new_context(base_url=live_server.url)
    context.add_cookies([session_cookie(editor, live_server.url)])
    yield context.new_page()
    context.close()


def test_a_job_is_followed_on_when_its_stream_can_not_be_opened_again(quiet_page, running):
    quiet_page.route("**/events", lambda route: route.fulfill(status=503))
    with quiet_page.expect_response("**/events"):
        quiet_page.goto(f"/w/handbook/jobs/{running.pk}")
    quiet_page.route(f"**/jobs/{running.pk}", lambda route: route.fulfill(status=503), times=1)
    Job.objects.update(state="succeeded", finished_at=timezone.now())

    expect(quiet_page.get_by_role("heading", name="Report")).to_be_visible(timeout=20_000)


def test_a_jobs_page_that_one_comes_back_to_is_up_to_date(quiet_page, running):
    quiet_page.route("**/events", lambda route: None)
    quiet_page.goto(f"/w/handbook/jobs/{running.pk}")
    Job.objects.update(state="succeeded", finished_at=timezone.now())
    quiet_page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")

    expect(quiet_page.get_by_role("heading", name="Report")).to_be_visible()


def test_a_jobs_page_follows_it_and_shows_the_report_at_its_end(page, running):
    Job.objects.update(items_total=40, items_done=10)
    page.goto(f"{LIST}/{running.pk}")
    expect(page.locator("[data-job=done]")).to_have_text("10")

    Job.objects.update(items_done=30, chunks_done=1_234, current_path="guide/<b>.md")
    expect(page.locator("[data-job=done]")).to_have_text("30")
    expect(page.locator("[data-job=chunks]")).to_have_text("1,234")
    expect(page.locator("[data-job=current]")).to_have_text("guide/<b>.md")
    assert page.locator("progress").evaluate("bar => bar.value") == 30

    Job.objects.update(state="succeeded", items_done=40, finished_at=timezone.now())
    expect(page.get_by_role("heading", name="Report")).to_be_visible()
    expect(page.locator("[data-job=state]")).to_have_text("succeeded")


def test_the_list_shows_that_a_job_has_ended_without_being_reloaded(open_page, viewer, running):
    page = open_page(viewer)
    page.goto(LIST)
    expect(page.locator("#job-list .state")).to_have_text("running")
    Job.objects.update(state="succeeded", finished_at=timezone.now())

    expect(page.locator("#job-list .state")).to_have_text("succeeded")
    expect(page.locator("#job-list[hx-trigger]")).to_have_count(0)


def test_logged_out_person_is_sent_to_log_in_from_the_list(open_page, viewer, running):
    page = open_page(viewer)
    page.goto(f"{LIST}?state=running")
    page.context.clear_cookies()

    expect(page).to_have_url(re.compile(r"/login\?next=/w/handbook/jobs%3Fstate%3Drunning"))
