"""What browsers may load and run."""

import re
from contextlib import closing

import pytest
from django.http import HttpResponse

from kebab.headers import SecurityHeaders


def policy_of(response):
    return dict(part.split(" ", 1) for part in response["Content-Security-Policy"].split("; "))


@pytest.mark.parametrize("page", ["/login", "/missing", "/healthz", "/admin/login/", "/api/v1/missing"])
def test_every_answer_has_a_strict_policy(client, db, page):
    policy = policy_of(client.get(page))

    assert policy["default-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert policy["form-action"] == "'self'"
    assert not any("unsafe" in sources for sources in policy.values())


def test_the_api_pages_may_style_inline_but_not_script(client, db):
    response = client.get("/api/docs/")
    policy = policy_of(response)

    assert "script-src" not in policy
    assert policy["default-src"] == "'self'"
    assert "<script>" not in response.content.decode()


def test_a_view_keeps_a_policy_of_its_own(rf):
    own = HttpResponse(headers={"Content-Security-Policy": "default-src 'none'; sandbox"})

    assert SecurityHeaders(lambda request: own)(rf.get("/"))["Content-Security-Policy"].endswith("sandbox")


def test_pages_carry_no_inline_script_or_style_and_load_nothing_from_elsewhere(visitor, workspace, guide):
    pages = ["/w/handbook/search?q=deploy", f"/w/handbook/documents/{guide.doc_id.hex}", "/missing", "/login"]

    for page in pages:
        text = visitor.get(page, follow=True).content.decode()
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:|<script(?! src=)", text)
        assert all(address.startswith("/") for address in re.findall(r'(?:src|action)="([^"]*)"', text))


def test_the_pages_files_are_served(client, db):
    for name in ("kebab/site.css", "kebab/keys.js", "kebab/kebab.svg", "django_htmx/htmx-2.min.js"):
        with closing(client.get(f"/static/{name}")) as response:
            assert response.status_code == 200
    assert client.get("/favicon.ico").status_code == 302
