"""The account pages in a real browser: layout, keyboard, and a quiet console."""

import pytest
from playwright.sync_api import expect

from kebab.identity.caller import Caller, member_access, readable_memberships
from kebab.identity.models import Role, User
from kebab.people.invitations import invite
from tests.pages.accounts.people import OTHER_PASSWORD, PASSWORD
from tests.support.browser import needs_browser

pytestmark = needs_browser


@pytest.fixture
def invitation(transactional_db, owner):
    access = member_access(Caller(user=owner), readable_memberships(owner).get())
    return invite(access, "ada@example.org", Role.EDITOR)


def check_fit(page):
    for width in (320, 390, 1440):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), width


def test_pages_without_a_sidebar_show_the_brand(open_page, invitation):
    page = open_page(viewport={"width": 1440, "height": 900})
    for address in ("/login", invitation.path):
        page.goto(address)
        expect(page.locator(".brand")).to_be_visible()


def test_an_invited_person_makes_an_account_by_keyboard_and_changes_the_password(
    open_page, invitation, mirrors
):
    page = open_page()
    page.goto(invitation.path)
    check_fit(page)
    expect(page.get_by_label("Your name")).to_be_focused()
    page.keyboard.type("Ada")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Tab")
    page.keyboard.press("Space")  # shows what was typed
    assert page.locator("#id_new_password1").get_attribute("type") == "text"
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.locator("#q")).to_be_visible()

    page.goto("/profile")
    page.get_by_role("link", name="Change password").click()
    check_fit(page)
    page.get_by_label("Current password").fill(PASSWORD)
    page.get_by_label("New password").fill(OTHER_PASSWORD)
    page.get_by_label("Repeat the password").fill(OTHER_PASSWORD)
    page.get_by_role("button", name="Change the password").click()
    expect(page.get_by_role("status")).to_contain_text("Password changed")

    page.goto("/profile")
    page.get_by_label("Account of Ada").click()
    page.get_by_role("button", name="Log out", exact=True).click()
    expect(page.get_by_role("status")).to_have_text("You are logged out")


def test_password_is_reset_by_the_mailed_link(open_page, transactional_db, ada, outbox):
    page = open_page()
    page.goto("/login")
    check_fit(page)
    page.get_by_role("link", name="Forgot your password?").click()
    check_fit(page)
    page.keyboard.type(ada.email)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Ask for your link")).to_be_visible()
    check_fit(page)

    page.goto(next(word for word in outbox[0].body.split() if word.startswith("http")))
    check_fit(page)
    page.get_by_label("New password").fill("short but not too short")
    page.get_by_label("Repeat the password").fill("something else entirely")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_be_visible()
    page.get_by_label("New password").fill(OTHER_PASSWORD)
    page.get_by_label("Repeat the password").fill(OTHER_PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("Password set. Log in with it.")
    assert User.objects.get(pk=ada.pk).check_password(OTHER_PASSWORD)
