"""Password reset through a mailed link."""

import re
import uuid
from datetime import datetime, timedelta
from unittest.mock import patch

import pytest
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.translation import get_language

from kebab.identity.models import User
from tests.pages.accounts.people import OTHER_PASSWORD, PASSWORD, is_signed_in, sign_in

pytestmark = pytest.mark.django_db


def ask(client, email="ada@example.org"):
    return client.post("/password/reset", {"email": email})


def link_in(message):
    return re.search(r"http://testserver(/\S+)", message.body).group(1)


def set_password(client, link, password=OTHER_PASSWORD):
    client.get(link)
    return client.post("/password/reset/form", {"new_password1": password, "new_password2": password})


def test_a_link_sets_a_password_once_and_ends_all_sessions(visitor, ada, outbox, acts):
    elsewhere = Client()
    sign_in(elsewhere)
    ask(visitor, "Ada@Example.org")
    link = link_in(outbox[0])

    opened = Client().get(link)
    cookie = opened.cookies["kebab_reset"]
    assert opened["Location"] == "/password/reset/form"
    assert cookie["httponly"] and cookie["path"] == "/password/reset/form" and cookie["samesite"] == "Lax"
    assert set_password(visitor, link)["Location"] == "/login"
    assert not is_signed_in(elsewhere)
    assert not is_signed_in(visitor)
    ada.refresh_from_db()
    assert ada.has_proved_email
    ada.email = "ada.new@example.org"
    assert not ada.has_proved_email
    assert sign_in(visitor, password=OTHER_PASSWORD).status_code == 302
    assert set_password(Client(), link, PASSWORD).status_code == 404
    assert [act for act, *_ in acts()][1:3] == ["password.reset_asked", "password.changed"]


def test_password_reset_is_undone_when_its_audit_event_fails(visitor, ada, outbox):
    ask(visitor)
    with (
        patch("kebab.accounts.audit.record", side_effect=ConnectionError),
        pytest.raises(ConnectionError),
    ):
        set_password(visitor, link_in(outbox[0]))

    ada.refresh_from_db()
    assert ada.check_password(PASSWORD)


def test_reset_link_uses_the_configured_address(visitor, ada, outbox, settings):
    for host in ("testserver:9999", "testserver:22"):
        response = visitor.post("/password/reset", {"email": ada.email}, headers={"Host": host})
        assert response.status_code == 400
    assert outbox == []
    settings.KEBAB_URL = "https://kebab.example.org:8443"
    visitor.post("/password/reset", {"email": ada.email}, headers={"Host": "testserver:9999"})

    assert "https://kebab.example.org:8443/password/reset/" in outbox[0].body


def test_only_password_users_get_a_link_and_responses_do_not_differ(visitor, ada, outbox, acts):
    User.objects.create_user("gone@example.org", PASSWORD, is_active=False)
    User.objects.create_user("sso@example.org", None)
    responses, emails = [], ("nobody@example.org", "gone@example.org", "sso@example.org")
    with patch("kebab.accounts.views.queue_reset_mail"):
        for email in (ada.email, *emails):
            with CaptureQueriesContext(connection) as queries:
                response = ask(visitor, email)
            responses.append((response.status_code, response["Location"], len(queries)))
    assert len(set(responses)) == 1
    assert [act for act, *_ in acts()] == ["password.reset_asked"] * 4

    for email in emails:
        ask(visitor, email)
    assert outbox == []


def test_a_link_ends_after_two_hours(visitor, ada, outbox):
    ask(visitor)
    with patch.object(PasswordResetTokenGenerator, "_now", autospec=True) as now:
        now.return_value = datetime.now() + timedelta(hours=2, minutes=1)
        assert visitor.get(link_in(outbox[0]), follow=True).status_code == 404


def test_invalid_link_is_refused(visitor, ada):
    made_up = ("", "x", "MQ.x-y", "LTE.a-b", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5.a-b", "é.\x00", "." * 9)
    for held in made_up:
        visitor.cookies["kebab_reset"] = held
        assert visitor.get("/password/reset/form").status_code == 404, held


def test_a_weak_password_leaves_the_link_good(visitor, ada, outbox):
    ask(visitor)
    link = link_in(outbox[0])

    assert set_password(visitor, link, "short").context["form"].errors
    assert set_password(visitor, link).status_code == 302


def test_mail_is_sent_outside_of_the_request(transactional_db, visitor, ada, mailoutbox):

    from kebab.accounts import secret_links

    ask(visitor)
    secret_links._mail_executor().shutdown()
    secret_links._mail_executor.cache_clear()

    assert [message.to for message in mailoutbox] == [["ada@example.org"]]


def test_reset_mails_are_limited_silently_per_account_and_openly_per_address(visitor, ada, outbox, settings):
    settings.KEBAB_MAIL_LIMITS = {"account": "2/hour", "address": "4/hour"}
    ada.email = f"{uuid.uuid4().hex}@example.org"  # so that no earlier run has used up its mails
    ada.save()
    answers = [ask(visitor, ada.email).status_code for _ in range(4)]
    refused = ask(visitor, "else@example.org")

    assert answers == [302] * 4
    assert len(outbox) == 2
    assert refused.status_code == 429
    assert int(refused["Retry-After"]) > 0


def test_a_mail_server_that_is_away_is_logged_without_the_link(
    transactional_db, visitor, ada, settings, caplog
):
    from kebab.accounts import secret_links

    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    answer = ask(visitor)
    secret_links._mail_executor().shutdown()
    secret_links._mail_executor.cache_clear()

    assert answer.status_code == 302
    assert "ConnectionRefusedError" in caplog.text
    assert "/password/reset/" not in caplog.text


def test_reset_pages_without_a_mail_server_refer_to_the_operator(visitor, db, settings):
    for path in ("/password/reset", "/password/reset/asked"):
        assert 'id="no-mail"' in visitor.get(path).content.decode()
    settings.EMAIL_BACKEND = "tests.pages.people.mail_backend.DeliveringBackend"
    for path in ("/password/reset", "/password/reset/asked"):
        assert 'id="no-mail"' not in visitor.get(path).content.decode()


def test_mail_is_in_the_language_of_its_reader(visitor, ada, outbox):
    type(ada).objects.filter(pk=ada.pk).update(language="de")
    with patch("kebab.accounts.secret_links.render_to_string", side_effect=lambda *_: get_language()):
        ask(visitor)
    assert outbox[0].body == "de"
