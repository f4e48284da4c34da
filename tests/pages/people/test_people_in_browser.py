"""The people pages in a real browser: secrets are copied, and all fits a phone."""

import pytest
from playwright.sync_api import expect

from kebab.identity.models import Role, User
from kebab.identity.tokens import mint_token
from kebab.people.groups import create_group
from kebab.people.invitations import invite
from kebab.people.operator import command_line_access
from tests.pages.search.shelf import make_member
from tests.support.browser import needs_browser

pytestmark = [*needs_browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(transactional_db, owner, open_page):
    return open_page(owner)


def test_new_token_is_copied_without_a_secure_context(page, live_server):
    page.add_init_script("Object.defineProperty(window, 'isSecureContext', {value: false})")
    page.goto("/w/handbook/tokens")
    page.locator("summary", has_text="New token").click()
    page.get_by_label("Name").fill("Wiki bot")
    page.get_by_role("button", name="Create").click()
    secret = page.get_by_label("Token", exact=True).input_value()
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("status")).to_have_text("Copied")
    page.locator("summary", has_text="New token").click()
    page.get_by_label("Name").press("Control+V")

    assert secret.startswith("kbb_")
    expect(page.get_by_label("Name")).to_have_value(secret)


def test_a_member_is_asked_about_once_more_and_removed_by_keyboard_alone(page, workspace):
    person = make_member(workspace, "vera@example.org")
    page.goto(f"/w/handbook/people/{person.pk}")
    page.locator("summary", has_text="Remove vera@example.org").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Remove")).to_be_focused()
    page.keyboard.press("Enter")

    expect(page.get_by_role("status")).to_have_text("Member removed")


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_invitation_link_and_heading_are_visible_without_scrolling(
    transactional_db, operator_owner, workspace, open_page, width, height
):
    for number in range(20):
        make_member(workspace, f"{number}@example.org")
    page = open_page(operator_owner, viewport={"width": width, "height": height})
    page.goto("/w/handbook/people")
    page.locator("summary", has_text="Invite").click()
    page.get_by_label("Email").fill("new@example.org")
    page.get_by_role("button", name="Send the invitation").click()

    for shown in (page.get_by_label("Link", exact=True), page.locator(".once p"), page.locator("h1")):
        expect(shown).to_be_in_viewport(ratio=1)


def test_message_is_as_wide_as_the_content_at_most(page, workspace):
    person = make_member(workspace, "vera@example.org")
    page.set_viewport_size({"width": 1920, "height": 900})
    page.goto(f"/w/handbook/people/{person.pk}")
    page.locator("summary", has_text="Remove vera@example.org").click()
    page.get_by_role("button", name="Remove").click()
    message, content = page.get_by_role("status").bounding_box(), page.locator("table").first.bounding_box()

    assert message["x"] == content["x"]
    assert message["width"] <= content["width"]


def test_a_token_is_made_without_javascript(transactional_db, owner, open_page):
    page = open_page(owner, java_script_enabled=False)
    page.goto("/w/handbook/tokens")
    page.locator("summary", has_text="New token").click()
    page.get_by_role("button", name="Create").click()

    assert page.get_by_label("Token", exact=True).input_value().startswith("kbb_")
    expect(page.get_by_role("button", name="Copy")).to_be_hidden()


def test_pages_of_people_fit_the_screen_whatever_things_are_called(page, workspace):
    wide = make_member(workspace, f"{'w' * 60}@{'x' * 60}.example.org", Role.EDITOR)
    User.objects.filter(pk=wide.pk).update(display_name="\u202e" + "🥙" * 100)
    group = create_group(command_line_access(workspace), "g" * 100)
    token, _ = mint_token(workspace, scopes=["search", "ask", "ingest"], name="t" * 200, groups=[group])
    invite(command_line_access(workspace), f"{'i' * 60}@{'x' * 60}.example.org", Role.EDITOR)
    below = (
        *("people", f"people/{wide.pk}", f"people/{wide.pk}/access"),
        *("groups", f"groups/{group.pk}"),
        *("tokens", f"tokens/{token.pk}", f"tokens/{token.pk}/access"),
        *("settings", "settings/search", "settings/delete", "audit"),
    )

    for address in below:
        page.goto(f"/w/handbook/{address}")
        for width in (320, 390, 1440):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), (
                address,
                width,
            )


def test_the_menu_of_the_person_opens_and_closes_by_keyboard_and_logs_out(page, workspace):
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto("/w/handbook/people")
    menu, link = page.locator(".bar details[data-menu] > summary"), page.get_by_role("link", name="Profile")
    menu.focus()
    page.keyboard.press("Enter")
    expect(link).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(link).to_be_hidden()
    expect(menu).to_be_focused()
    page.keyboard.press("Enter")
    page.locator("h1").click()
    expect(link).to_be_hidden()
    menu.click()
    page.get_by_role("button", name="Log out", exact=True).click()

    expect(page.get_by_role("status")).to_have_text("You are logged out")
