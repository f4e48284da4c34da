import pytest
import redis

from kebab.stack.servers import lost_changes, server_metrics
from kebab.stack.servers.lost_changes import LostRange, lost_ranges, record_lost_range
from kebab.stack.servers.redis_client import redis_client

pytestmark = pytest.mark.usefixtures("servers")
FOUND = LostRange("b6b5", 5, 12, 3, 4)


@pytest.fixture
def clock(monkeypatch):
    """Return the time of day, which a test sets."""
    now = [1_000_000.0]
    monkeypatch.setattr(lost_changes.time, "time", lambda: now[0])
    return now


@pytest.fixture(autouse=True)
def own_list(monkeypatch):
    """List the ranges of this test alone."""
    monkeypatch.setattr(lost_changes, "_RANGES", "test:lost")
    yield
    with redis_client() as client:
        client.delete("test:lost")


def test_range_that_several_nodes_find_is_listed_once_for_a_week(clock):
    record_lost_range(FOUND)
    clock[0] += 86_400
    record_lost_range(FOUND)
    assert lost_ranges() == {FOUND: 1_000_000.0}
    clock[0] += 7 * 86_400
    assert lost_ranges() == {}


def test_lost_changes_are_counted_by_range():
    record_lost_range(FOUND)
    samples = {each.family.name: each for each in server_metrics._collect_redis()}
    assert samples["kebab_lost_ranges"].amount == 1
    changes = samples["kebab_lost_changes"]
    assert (changes.values, changes.amount) == (("b6b5", "5", "12"), 8)


def test_lost_changes_are_logged_while_redis_is_away(monkeypatch, caplog):
    def refuse(*_):
        raise redis.ConnectionError

    monkeypatch.setattr(lost_changes, "redis_client", refuse)
    record_lost_range(FOUND)
    assert "b6b5" in caplog.text
