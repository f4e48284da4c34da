"""The leak matrix while a standby answers in place of the primary."""

import pytest

from tests.security.leaks.matrix import SUBJECTS, calls_about, faults_of
from tests.support.standby import running_pair

pytestmark = pytest.mark.slow

#: Routes of POST that write nothing a client is told of.
READING = frozenset(
    {"api-ask", "api-context-pack", "api-dify-retrieval", "api-openai-search", "ask"}
    | {"api-search", "api-search-bulk", "api-search-several"}
)


@pytest.fixture(scope="module")
def _standby(setting, django_db_blocker, database_folder):
    """End the primary of a copy of the stage."""
    with django_db_blocker.unblock(), running_pair(database_folder) as pair:
        pair.replicate()
        with pair.without_primary():
            yield


def is_refused_write(fault: str) -> bool:
    """Return whether an answer that is a fault on the primary is that to a write."""
    return fault.startswith(("token: 503 ", "viewer: 503 "))


@pytest.mark.parametrize("subject", SUBJECTS)
@pytest.mark.usefixtures("_standby")
def test_hidden_is_answered_like_missing_by_a_standby(stage_setting, subtests, subject):
    for call in calls_about(subject):
        with subtests.test(call=call.label):
            faults = faults_of(stage_setting, call, {"token" if call.route.startswith("api-") else "viewer"})
            if call.method != "get" and call.route not in READING:
                faults = [fault for fault in faults if not is_refused_write(fault)]
            assert not faults, "\n".join(faults)
