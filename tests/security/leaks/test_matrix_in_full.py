"""The leak matrix with every caller: people of each role, tokens of each kind, and anonymous ones."""

import pytest

from tests.security.leaks.matrix import SUBJECTS, calls_about, faults_of_all_callers

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("subject", SUBJECTS)
def test_hidden_is_answered_like_missing_to_all_callers(stage_setting, subtests, subject):
    for call in calls_about(subject):
        with subtests.test(call=call.label):
            faults = faults_of_all_callers(stage_setting, call)
            assert not faults, "\n".join(faults)
