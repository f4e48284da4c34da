"""The views as a WSGI application."""

import django
from django.test import RequestFactory


def test_wsgi_application_answers_like_the_web_server(db, monkeypatch):
    monkeypatch.setattr(django, "setup", lambda **_: None)
    from kebab.wsgi import application

    started = []
    environ = RequestFactory().get("/api/v1/unknown").environ
    body = b"".join(application(environ, lambda status, headers: started.append((status, dict(headers)))))
    ((status, headers),) = started
    assert status == "404 Not Found"
    assert headers["Content-Type"] == "application/problem+json"
    assert b"/api/v1/unknown" in body or b"not_found" in body
