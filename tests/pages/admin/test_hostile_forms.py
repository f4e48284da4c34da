"""Forged forms of the admin: each gets a 400 and changes nothing."""


def test_form_with_a_nul_is_refused_everywhere(office, admin_rows, subtests):
    nuls = ({"email": "a\x00@example.org"}, {"a\x00": "b"}, {"action": ["c", "\x00"]}, {"sure": "\x00"})
    for number, address in enumerate(admin_rows.pages(searched=False)):
        with subtests.test(address=address):
            assert office.post(address, nuls[number % len(nuls)]).status_code == 400


def test_unknown_permission_is_refused(office, admin_rows):
    for right in ("x", "9" * 40, "-1"):
        form = {"email": "ada@example.org", "is_active": "on", "user_permissions": [right]}
        answer = office.post(f"/admin/people/user/{admin_rows.person.pk}/change/", form)
        assert answer.status_code in (200, 400), right
        assert not admin_rows.person.user_permissions.exists()
