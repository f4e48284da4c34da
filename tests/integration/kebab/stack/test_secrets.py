import json
import os
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from kebab.stack.errors import PathRefused
from kebab.stack.servers.secrets import load_or_create


def test_concurrent_callers_get_the_same_secrets(data_dir):
    start = Barrier(8, timeout=30)

    def read():
        start.wait()
        return load_or_create(data_dir).secret_key

    with ThreadPoolExecutor(8) as threads:
        assert len({each.result() for each in [threads.submit(read) for _ in range(8)]}) == 1


def test_secrets_persist_privately_and_differ_between_data_directories(data_dir):
    found = load_or_create(data_dir)
    assert load_or_create(data_dir) == found
    assert load_or_create(data_dir / "other") != found
    assert (data_dir / "secrets.json").stat().st_mode & 0o777 == 0o600
    for secret in (found.secret_key, found.redis_password, found.encryption_key):
        assert secret not in repr(found)


def test_secrets_of_an_earlier_version_are_kept_and_completed(data_dir):
    first = load_or_create(data_dir)
    file = data_dir / "secrets.json"
    written = json.loads(file.read_text())
    del written["encryption_key"]
    file.write_text(json.dumps(written))
    found = load_or_create(data_dir)

    for name in ("secret_key", "redis_password", "stack_id"):
        assert getattr(found, name) == getattr(first, name)
    assert len(found.encryption_key) == 44
    assert load_or_create(data_dir) == found
    assert file.stat().st_mode & 0o777 == 0o600


def test_damaged_secrets_are_named_and_not_replaced(data_dir):
    load_or_create(data_dir)
    for damaged in ("{", "[]", '{"secret_key": "x"}', '{"other": 1}'):
        (data_dir / "secrets.json").write_text(damaged)
        with pytest.raises(PathRefused, match=r"secrets\.json"):
            load_or_create(data_dir)
        assert (data_dir / "secrets.json").read_text() == damaged


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read everything")
def test_secrets_of_another_user_are_refused_with_the_remedy(data_dir):
    load_or_create(data_dir)
    (data_dir / "secrets.json").chmod(0)
    with pytest.raises(PathRefused):
        load_or_create(data_dir)
