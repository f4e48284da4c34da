import json
import multiprocessing
import os
from pathlib import Path

import pytest

from kebab.stack.errors import PathRefused
from kebab.stack.secrets import load_or_create


def _read_secrets(data_dir: Path, start, answers) -> None:
    start.wait()
    answers.put(load_or_create(data_dir).secret_key)


def test_processes_that_ask_at_once_get_the_same_secrets(data_dir):
    context = multiprocessing.get_context("spawn")
    start, answers = context.Event(), context.Queue()
    askers = [context.Process(target=_read_secrets, args=(data_dir, start, answers)) for _ in range(4)]
    for asker in askers:
        asker.start()
    start.set()
    keys = {answers.get(timeout=60) for _ in askers}
    for asker in askers:
        asker.join()
    answers.close()
    assert len(keys) == 1


def test_secrets_last_and_differ_between_data_directories(data_dir):
    assert load_or_create(data_dir) == load_or_create(data_dir)
    assert load_or_create(data_dir / "other") != load_or_create(data_dir)


def test_only_the_owner_can_read_the_secrets(data_dir):
    load_or_create(data_dir)
    assert (data_dir / "secrets.json").stat().st_mode & 0o777 == 0o600


def test_representation_shows_no_secret(data_dir):
    found = load_or_create(data_dir)
    assert found.secret_key not in repr(found)
    assert found.redis_password not in repr(found)
    assert found.encryption_key not in repr(found)


def test_secrets_of_an_earlier_version_stay_and_get_what_they_lack(data_dir):
    first = load_or_create(data_dir)
    file = data_dir / "secrets.json"
    written = json.loads(file.read_text())
    del written["encryption_key"]
    file.write_text(json.dumps(written))
    found = load_or_create(data_dir)

    assert (found.secret_key, found.redis_password, found.stack_id) == (
        first.secret_key,
        first.redis_password,
        first.stack_id,
    )
    assert len(found.encryption_key) == 44
    assert load_or_create(data_dir) == found
    assert file.stat().st_mode & 0o777 == 0o600


def test_damaged_secrets_are_named_and_not_replaced(data_dir):
    load_or_create(data_dir)
    for damaged in ("{", "[]", '{"secret_key": "x"}', '{"other": 1}'):
        (data_dir / "secrets.json").write_text(damaged)
        with pytest.raises(PathRefused, match=r"secrets\.json is damaged"):
            load_or_create(data_dir)
        assert (data_dir / "secrets.json").read_text() == damaged


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read everything")
def test_secrets_of_another_user_are_refused_with_the_remedy(data_dir):
    load_or_create(data_dir)
    (data_dir / "secrets.json").chmod(0)
    with pytest.raises(PathRefused, match="run as the user who made it"):
        load_or_create(data_dir)
