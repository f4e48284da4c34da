"""Uploads one by one in a browser, under failures of network and server, and of whole folders."""

import pytest
from playwright.sync_api import expect

from ingest.models import Job
from tests.support.archives import zip_of
from tests.support.browser import needs_browser, session_cookie
from tests.support.jobs import PICTURE

pytestmark = [*needs_browser, pytest.mark.django_db(transaction=True)]

PAGE = "/w/handbook/upload"
SENDING, LOOKING = "**/api/v1/workspaces/handbook/documents", "**/api/v1/workspaces/handbook/jobs/*"


@pytest.fixture
def page(browser, live_server, editor):
    """Yield an editor's page, whose console may report responses that tests fake."""
    context = browser.new_context(base_url=live_server.url)
    context.add_cookies([session_cookie(editor, live_server.url)])
    page, broken = context.new_page(), []
    page.on("pageerror", lambda error: broken.append(str(error)))
    page.goto(PAGE)
    yield page
    context.close()
    assert broken == []


def choose(page, *names, content=b"# Alpha\n\nfirst\n"):
    page.locator("#file").set_input_files(
        [{"name": name, "mimeType": "text/markdown", "buffer": content} for name in names]
    )


def rows(page):
    return page.locator("[data-sent] .sent > li")


def summary(page):
    return page.locator("[data-summary]")


def answer_once(page, addresses, *answers):
    """Answer the first requests with these statuses (None: drop the request), later ones by the server."""
    left = list(answers)

    def answer(route):
        if not left:
            return route.continue_()
        status = left.pop(0)
        if status is None:
            return route.abort()
        return route.fulfill(status=status, body="<html>", headers={"Retry-After": "0.01"})

    page.route(addresses, answer)


def test_a_file_is_followed_to_its_end_whatever_happens_on_the_way(page, worker):
    answer_once(page, LOOKING, 503, None, 429, 502)
    choose(page, "a.md")

    expect(summary(page)).to_have_text("1 of 1 added", timeout=20_000)
    expect(page.locator("[data-refused] > li")).to_have_count(0)


@pytest.mark.parametrize("status", [401, 403, 404])
def test_upload_with_unknown_job_state_is_shown_as_sent(page, status):
    page.route(LOOKING, lambda route: route.fulfill(status=status))
    choose(page, "a.md")

    expect(summary(page)).to_have_text("0 of 1 added · 1 sent, result unknown")
    expect(rows(page).locator(".state")).to_have_text("Sent")
    expect(rows(page).get_by_role("link")).to_have_attribute(
        "href", f"/w/handbook/activity/{Job.objects.get().pk}"
    )


def test_a_busy_server_is_sent_the_file_again(page):
    answer_once(page, SENDING, 429, 503)
    choose(page, "a.md")

    expect(rows(page).locator(".state")).to_have_text("Reading")
    assert Job.objects.get().payload["path"] == "a.md"


def test_unreadable_files_of_a_folder_are_named_and_the_rest_sent(page):
    page.evaluate(
        """() => {
            const broken = (take, refuse) => refuse(new DOMException("locked", "NotReadableError"));
            const file = new File(["# Good"], "good.md");
            const inside = [
                { isFile: true, fullPath: "/docs/bad.md", file: broken },
                { isFile: false, fullPath: "/docs/shut", createReader: () => ({ readEntries: broken }) },
                { isFile: true, fullPath: "/docs/good.md", file: (take) => take(file) },
            ];
            const folder = {
                isFile: false,
                fullPath: "/docs",
                createReader: () => ({ readEntries: (take) => take(inside.splice(0)) }),
            };
            const items = [{ webkitGetAsEntry: () => folder }];
            const event = Object.assign(new Event("drop", { bubbles: true, cancelable: true }), {
                dataTransfer: { items, types: ["Files"], files: [] },
            });
            document.querySelector("[data-drop]").dispatchEvent(event);
        }"""
    )

    expect(rows(page)).to_have_count(3)
    for number, path in enumerate(("docs/bad.md", "docs/shut")):
        expect(rows(page).nth(number)).to_contain_text(path)
        expect(rows(page).nth(number)).to_contain_text("locked")
    expect(rows(page).nth(2).locator(".state")).to_have_text("Reading")
    assert Job.objects.get().payload["path"] == "docs/good.md"


def test_files_are_sent_while_none_is_read_yet(page):
    names = {f"{number}.md" for number in range(7)}
    choose(page, *names)

    expect(page.locator(".sent .state", has_text="Waiting for")).to_have_count(0)
    expect(page.locator(".sent .state", has_text="Sending")).to_have_count(0)
    expect(page.locator(".sent > li")).to_have_count(7)
    assert {job.payload["path"] for job in Job.objects.all()} == names
    (first,) = Job.objects.filter(batch=None)
    assert Job.objects.filter(batch=first.pk).count() == 6


def test_leaving_the_page_asks_only_while_files_are_being_sent(page):
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    page.get_by_role("heading", level=1).click()  # a browser asks only those who have touched the page
    choose(page, "a.md")
    expect(rows(page).locator(".state")).to_have_text("Reading")
    page.goto("/w/handbook/activity")
    assert asked == []

    page.goto(PAGE)
    page.route(SENDING, lambda route: None)
    page.get_by_role("heading", level=1).click()
    choose(page, "a.md")
    expect(rows(page).locator(".state")).to_have_text("Sending")
    page.goto("/w/handbook/activity")
    assert asked == ["beforeunload"]


def test_file_dropped_anywhere_on_the_page_is_uploaded_and_not_opened(page):
    is_opened = page.evaluate(
        """() => ["dragover", "drop"].map((name) => {
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File(["x"], "x.html"));
            const event = new DragEvent(name, { bubbles: true, cancelable: true, dataTransfer });
            return document.querySelector("h1").dispatchEvent(event);
        })"""
    )

    assert is_opened == [False, False]
    expect(rows(page).locator(".state")).to_have_text("Reading")
    assert Job.objects.get().payload["path"] == "x.html"


def test_uploading_to_a_new_source_requires_its_name(page):
    page.get_by_text("Options").click()
    page.get_by_label("Collection").fill("No Key")
    page.get_by_text("Options").click()
    choose(page, "a.md")
    expect(page.get_by_label("Collection")).to_be_visible()
    expect(rows(page)).to_have_count(0)
    page.get_by_label("Collection").fill("minutes-2026")
    choose(page, "b.md")

    expect(rows(page).locator(".state")).to_have_text("Reading")
    assert Job.objects.get().source.key == "minutes-2026"


def test_a_refused_file_is_named_however_many_came_before_and_never_sent(page):
    page.locator("form[data-upload]").evaluate("form => (form.dataset.limit = 3)")
    choose(page, *(f"{number}.md" for number in range(501)))

    expect(rows(page)).to_have_count(501)
    expect(rows(page).last).to_contain_text("500.md")
    expect(rows(page).last).to_contain_text("the limit is")
    assert not Job.objects.exists()


def test_outcome_of_each_file_is_shown_with_its_reason(open_page, editor, worker):
    page = open_page(editor)
    page.goto(PAGE)
    page.locator("#file").set_input_files(
        [
            {"name": "a.md", "mimeType": "text/markdown", "buffer": b"# Alpha\n\nfirst\n"},
            {"name": "picture.psd", "mimeType": "image/x", "buffer": PICTURE},
        ]
    )

    expect(summary(page)).to_have_text("1 of 2 added · 1 not added")
    expect(page.locator("[data-refused] > li")).to_contain_text("No parser reads files of this kind.")
    expect(page.locator("[data-overall]")).to_be_hidden()
    expect(page.get_by_text("a.md")).to_be_hidden()
    page.get_by_text("1 added", exact=True).click()
    expect(page.locator("[data-added] > li")).to_contain_text("a.md")


def test_each_document_of_an_archive_counts(page, worker):
    choose(page, "all.zip", content=zip_of({"a.md": "# Alpha", "b.md": "# Beta"}))

    expect(summary(page)).to_have_text("2 of 2 added", timeout=20_000)


def test_the_plain_form_uploads_without_javascript(open_page, editor):
    page = open_page(editor, java_script_enabled=False)
    page.goto(PAGE)
    choose(page, "a.md")
    page.get_by_role("button", name="Upload").click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("uploaded a.md to uploads")
