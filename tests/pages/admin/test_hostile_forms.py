"""Forms of the admin filled in by hand: a bad one is a 400, and nothing is done."""

import pytest

from ingest.models import Job

BAD_KEYS = ("x", "1" * 40, "-" + "9" * 19, "é", "0f", "' OR 1=1 --", "")


@pytest.mark.parametrize("key", BAD_KEYS)
def test_a_ticked_row_that_there_can_not_be_is_refused(office, filled, key):
    for name in filled.rows():
        ticked = {"action": "delete_selected", "_selected_action": [key], "sure": "yes"}
        assert office.post(f"/admin/{name}/", ticked).status_code < 500, (name, key)
    ticked = {"action": "cancel", "_selected_action": [str(filled.job.pk), key], "sure": "yes"}

    assert office.post("/admin/ingest/job/", ticked).status_code == 400
    assert not Job.objects.get(pk=filled.job.pk).cancel_requested


@pytest.mark.parametrize(
    "nul", [{"email": "a\x00@example.org"}, {"a\x00": "b"}, {"action": ["cancel", "\x00"]}, {"sure": "\x00"}]
)
def test_a_form_with_a_nul_is_refused_everywhere(office, filled, nul):
    for address in filled.pages(searched=False):
        assert office.post(address, nul).status_code == 400, address


@pytest.mark.parametrize("right", ["x", "9" * 40, "-1"])
def test_rights_that_there_are_not_are_refused(office, filled, right):
    form = {"email": "ada@example.org", "is_active": "on", "user_permissions": [right]}
    answer = office.post(f"/admin/people/user/{filled.person.pk}/change/", form)

    assert answer.status_code in (200, 400)
    assert not filled.person.user_permissions.exists()
