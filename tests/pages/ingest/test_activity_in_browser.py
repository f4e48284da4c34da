"""Activity in a real browser follows the jobs to their end."""

import re

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from ingest.models import Job
from search.corpus import ensure_source
from tests.support.browser import needs_browser

pytestmark = [*needs_browser, pytest.mark.django_db(transaction=True)]

LIST = "/w/handbook/activity"


@pytest.fixture
def running(workspace):
    source = ensure_source(workspace, "docs", kind="folder", config={"path": "/d"})
    return Job.objects.create(
        workspace=workspace, kind="sync_source", source=source, state="running", started_at=timezone.now()
    )


def test_page_of_an_act_follows_it_also_while_the_server_does_not_answer(open_page, editor, running):
    Job.objects.update(items_total=40, items_done=10, discovered_at=timezone.now())
    page = open_page(editor)
    page.goto(f"{LIST}/{running.pk}")
    assert page.locator("progress").evaluate("bar => bar.value") == 10

    page.route(f"**/activity/{running.pk}", lambda route: route.fulfill(status=204), times=1)
    Job.objects.update(items_done=30, current_path="guide/<b>.md")
    expect(page.get_by_text("guide/<b>.md")).to_be_visible()
    assert page.locator("progress").evaluate("bar => bar.value") == 30

    Job.objects.update(state="succeeded", items_done=40, finished_at=timezone.now())
    expect(page.locator("[data-act-state=done]")).to_be_visible()
    expect(page.locator("progress")).to_have_count(0)


def test_the_list_shows_that_an_act_has_ended_without_being_reloaded(open_page, viewer, running):
    page = open_page(viewer)
    page.goto(LIST)
    expect(page.locator("#activity [data-act-state=running]")).to_be_visible()
    Job.objects.update(state="succeeded", finished_at=timezone.now())

    expect(page.locator("#activity [data-act-state=done]")).to_be_visible()
    expect(page.locator("#activity[hx-trigger]")).to_have_count(0)


def test_logged_out_person_is_sent_to_log_in_from_the_list(open_page, viewer, running):
    page = open_page(viewer)
    page.goto(f"{LIST}?show=running")
    page.context.clear_cookies()

    expect(page).to_have_url(re.compile(r"/login\?next=/w/handbook/activity%3Fshow%3Drunning"))
