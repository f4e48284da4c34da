"""The leak matrix with every caller: people of each role, tokens of each kind, and nobody."""

import pytest

from tests.security.leaks.matrix import SUBJECTS, calls_about, faults_for_everybody

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("subject", SUBJECTS)
def test_hidden_is_answered_like_missing_to_everybody(played, subtests, subject):
    for call in calls_about(subject):
        with subtests.test(call=call.label):
            faults = faults_for_everybody(played, call)
            assert not faults, "\n".join(faults)
