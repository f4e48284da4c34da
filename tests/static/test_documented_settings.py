"""docs/configuration.md lists every variable that kebab/settings.py reads."""

import re

from tests.support.paths import ROOT

# Of drills, and of this suite.
NOT_FOR_USERS = {"KEBAB_FAILPOINT", "KEBAB_WITHOUT", "KEBAB_TEST_DATABASE"}


def test_every_variable_that_is_read_is_on_the_page_of_settings():
    read = set(re.findall(r'"(KEBAB_[A-Z_]+)"', (ROOT / "kebab" / "settings.py").read_text()))
    documented = set(re.findall(r"`(KEBAB_[A-Z_]+)`", (ROOT / "docs" / "configuration.md").read_text()))
    assert read - documented == NOT_FOR_USERS
    assert documented - read <= {"KEBAB_EMBED_API_KEY_"}
