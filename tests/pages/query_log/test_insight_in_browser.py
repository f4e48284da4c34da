"""The insight and evaluation pages in a browser: quiet console, keyboard, phone."""

import pytest
from playwright.sync_api import expect

from ingest.jobs.queue.run import run_job
from kebab.identity.models import Role
from search.models import Run, RunTopic
from tests.pages.query_log.factories import make_query
from tests.support.actors import make_member, make_workspace
from tests.support.browser import needs_browser
from tests.support.corpus import write

pytestmark = [*needs_browser, pytest.mark.django_db(transaction=True)]

PHONE = {"viewport": {"width": 390, "height": 844}}


@pytest.fixture
def orchard(transactional_db, mirrors):
    workspace = make_workspace()
    write(workspace, "apples.md", "the apple harvest in autumn")
    workspace.refresh_from_db()
    for days_ago in range(30):
        make_query(workspace, f"query {'w' * 300} {days_ago % 4}", days_ago=days_ago, hits=days_ago % 3)
    return workspace


@pytest.fixture
def admin(orchard):
    return make_member(orchard, Role.ADMIN)


@pytest.mark.parametrize("options", [{}, PHONE], ids=["desktop", "phone"])
def test_plots_fit_and_their_tables_open_by_keyboard(open_page, orchard, admin, options):
    page = open_page(admin, **options)
    page.goto(f"/w/{orchard.slug}/insight")

    plots = page.locator("svg.plot")
    expect(plots).to_have_count(2)
    assert plots.first.bounding_box()["height"] == 200
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    page.get_by_text("Show as a table").first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("table").first).to_be_visible()


def test_searches_without_results_have_the_colour_of_failures_in_plot_and_legend(open_page, orchard, admin):
    page = open_page(admin)
    page.goto(f"/w/{orchard.slug}/insight")
    failure = page.evaluate(
        """() => {
          const probe = document.body.appendChild(document.createElement("i"));
          probe.style.color = "var(--bad)";
          return getComputedStyle(probe).color;
        }"""
    )

    def colours_of(kind):
        bar, swatch = page.locator(f"svg.plot rect.{kind}").first, page.locator(f".legend > .{kind}").first
        return {
            bar.evaluate("bar => getComputedStyle(bar).fill"),
            swatch.evaluate("swatch => getComputedStyle(swatch, '::before').backgroundColor"),
        }

    assert colours_of("bad") == {failure}
    assert len(colours_of("good")) == 1
    assert colours_of("good") != {failure}


def test_a_query_is_added_and_run_and_the_page_follows(open_page, orchard, admin):
    page = open_page(admin, **PHONE)
    page.goto(f"/w/{orchard.slug}/evaluation")
    page.get_by_role("link", name="Add a test query").click()
    page.get_by_label("Query").fill("apple harvest")
    page.get_by_label("Right results").fill("apples.md")
    page.get_by_role("button", name="Add the test query").click()
    expect(page.get_by_role("status")).to_have_text("Test query added.")
    page.get_by_role("link", name="Start a run").click()
    page.get_by_label("Search by").select_option("lexical")
    page.get_by_role("button", name="Start the run").click()
    expect(page.get_by_text("0 of 1 queries done")).to_be_visible()
    run_job(orchard.pk, Run.objects.get().job_id)

    expect(page.get_by_text("Ranking quality (top 10)").first).to_be_visible()
    expect(page.get_by_text("queries done")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_a_run_is_followed_without_touching_what_is_open(open_page, orchard, admin):
    run = Run.objects.create(workspace=orchard, topic_set="golden", state="running", name="Slow")
    topic = RunTopic.objects.create(workspace=orchard, run=run, ordinal=0, topic_id="a", text="apple")
    page = open_page(admin)
    page.goto(f"/w/{orchard.slug}/evaluation/runs/{run.pk}")
    expect(page.get_by_text("0 of 1 queries done")).to_be_visible()
    page.locator("summary", has_text="Delete").click()
    RunTopic.objects.filter(pk=topic.pk).update(ranking=[])
    expect(page.get_by_text("1 of 1 queries done")).to_be_visible()
    expect(page.get_by_role("button", name="Delete the run")).to_be_visible()

    page.context.clear_cookies()
    with page.expect_response(lambda answer: "hx-refresh" in answer.headers):
        pass
    expect(page.get_by_text("1 of 1 queries done")).to_be_visible()
    expect(page.get_by_role("button", name="Delete the run")).to_be_visible()
