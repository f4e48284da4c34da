"""A running web process logs no secret, and clients cannot forge their address."""

import json
import re
import time

import httpx
import pytest

from kebab.stack.paths import DataDirectory
from tests.support.stack import Stack, temporary_directory

pytestmark = pytest.mark.slow

PASSWORDS = ("ebb tide at four", "lantern over water", "a wrong guess of mine")


@pytest.fixture(scope="module")
def stack():
    running = Stack(
        temporary_directory(),
        KEBAB_EMBEDDER="hash",
        KEBAB_LOG_LEVEL="DEBUG",
        KEBAB_WEB_WORKERS="2",
        KEBAB_BAD_TOKEN_LIMIT="30/minute",
    )
    try:
        running.up()
        yield running
    finally:
        running.stop()
        running.remove()


def json_output(stack, *arguments):
    done = stack.run(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Browser(httpx.Client):
    """Sends forms with their token, as a browser does."""

    def send_form(self, path, **fields):
        return self.post(path, data={"csrfmiddlewaretoken": self.cookies.get("csrftoken", ""), **fields})


def mailed_link(stack):
    """Return the path of the link in the mail that the web process writes."""
    folder = DataDirectory(stack.data_dir).mail
    for _ in range(200):
        for mail in folder.glob("*.log"):
            found = re.search(r"http://\S+(/password/reset/\S+)", mail.read_text())
            if found:
                return found[1]
        time.sleep(0.05)
    raise AssertionError("no mail")


def test_forwarded_header_does_not_evade_the_rate_limit(stack):
    def ask(number):
        headers = {"Authorization": "Bearer nonsense", "X-Forwarded-For": f"203.0.113.{number}"}
        return httpx.get(f"{stack.url}/api/v1/workspaces", headers=headers, timeout=30)

    # Twice and once more than the limit: should Redis be slow, each of the two processes counts alone.
    statuses = [ask(number).status_code for number in range(100)]

    assert statuses[:20] == [401] * 20
    assert 429 in statuses


def test_secrets_are_in_no_log(stack):
    json_output(stack, "workspace", "create", "handbook")
    token = json_output(stack, "token", "create", "--workspace", "handbook", "--scope", "search")["token"]
    invited = '{"email": "ada@example.org", "role": "viewer"}'
    link = json_output(stack, "api", "POST", "/workspaces/handbook/invitations", "--data", invited)["link"]
    invitation = link.rpartition("/")[2]
    known, new, wrong = PASSWORDS
    with Browser(base_url=stack.url, timeout=30) as browser:
        browser.get("/api/v1/workspaces", headers={"Authorization": f"Bearer {token}"}).raise_for_status()
        browser.get("/api/v1/workspaces", headers={"Authorization": f"Bearer {token[:-1]}_"})
        browser.get("/api/v1/workspaces", headers={"Authorization": "Basic YWRhOmEgd3Jvbmcgb25l"})
        for method in ("POST", "PUT", "HEAD", "OPTIONS"):
            browser.request(method, f"/invitations/{invitation}")
        browser.get(f"/invitations/{invitation}", headers={"Host": "evil.example"})
        browser.get(f"/invitations/{invitation}/")
        browser.get(f"/invitations/{invitation}")
        browser.get("/invitation").raise_for_status()
        joined = browser.send_form("/invitation", new_password1=known, new_password2=known)
        assert joined.status_code == 302, joined.text
        sessions = [browser.cookies["sessionid"]]
        browser.get("/password/change")
        browser.send_form("/logout")
        browser.get("/login")
        assert browser.send_form("/login", username="ada@example.org", password=wrong).status_code == 200
        assert browser.send_form("/login", username=known, password="ada@example.org").status_code == 200
        browser.post("/login", data={"username": "ada@example.org", "password": known})  # without its token
        assert browser.send_form("/login", username="ada@example.org", password=known).status_code == 302
        sessions.append(browser.cookies["sessionid"])
        browser.get("/password/reset")
        assert browser.send_form("/password/reset", email="ada@example.org").status_code == 302
        reset = mailed_link(stack)
        browser.post(reset)
        browser.get(f"{reset}/more")
        browser.get(reset)
        browser.get("/password/reset/form").raise_for_status()
        changed = browser.send_form("/password/reset/form", new_password1=new, new_password2=new)
        assert changed.status_code == 302, changed.text

    logs = "\n".join(
        path.read_text(errors="replace") for path in DataDirectory(stack.data_dir).logs.iterdir()
    )
    secrets = (
        token,
        token[:-1],
        token.split("_", 2)[2][:-1],
        invitation,
        reset.rpartition("/")[2],
        *PASSWORDS,
        *sessions,
    )
    assert " DEBUG " in logs
    assert "Forbidden (CSRF" in logs  # what Django says of a request is there
    assert [secret for secret in (*secrets, "YWRhOmEgd3Jvbmcgb25l") if secret in logs] == []
