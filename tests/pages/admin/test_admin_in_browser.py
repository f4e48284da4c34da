"""All pages of the admin in a real browser: no console messages, no foreign requests."""

import pytest

from tests.support.actors import make_workspace
from tests.support.browser import needs_browser

pytestmark = needs_browser


@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1440)])
def test_every_admin_page_opens_and_fits_the_screen(
    open_page, transactional_db, operator, admin_rows, scheme, width
):
    page = open_page(operator, color_scheme=scheme, viewport={"width": width, "height": 900})

    for address in admin_rows.pages(searched=False):
        response = page.goto(address)
        assert response.status == 200, address
        assert page.title() != "pwned", address
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), address


def test_the_policy_refuses_scripts_and_style_elements_in_the_page(client, operator, admin_rows):
    client.force_login(operator)
    for address in admin_rows.pages():
        policy = client.get(address, follow=True)["Content-Security-Policy"]
        assert "script-src 'self' 'unsafe-eval'; style-src 'self';" in policy, address
    client.logout()
    assert "unsafe" not in client.get("/admin/")["Content-Security-Policy"]


def test_a_workspace_is_chosen_by_typing(open_page, transactional_db, operator, admin_rows):
    make_workspace("zoo")
    page = open_page(operator)
    page.goto("/admin/ingest/job/")
    page.locator("a", has_text="Filters").click()
    page.locator(".select2-selection").first.click()
    page.locator(".select2-search__field").last.press_sequentially("hand")
    page.locator(".select2-results__option", has_text="handbook").click()
    page.get_by_role("button", name="Apply filters").click()

    page.wait_for_url(f"**/admin/ingest/job/?*workspace__id__exact={admin_rows.workspace.pk}*")
    assert page.locator("#result_list tbody").count() == 2


def test_the_theme_and_the_menu_of_the_person_work(open_page, transactional_db, operator, admin_rows):
    page = open_page(operator)
    page.goto("/admin/")
    page.keyboard.press("Control+e")
    page.keyboard.press("Control+e")
    page.locator("html.dark").wait_for()
    page.locator("#nav-sidebar").get_by_text("root@example.org").first.click()
    page.get_by_role("button", name="Log out").click()

    page.wait_for_url("**/login")
