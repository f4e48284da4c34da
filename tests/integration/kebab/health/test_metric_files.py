import os
import socket

import httpx
import psutil

from kebab.health import exporter
from kebab.health.process_checks import check_turns
from kebab.observability.metrics import files
from kebab.observability.metrics.exposition import Page, sample_names, write_series
from kebab.observability.metrics.files import Family
from kebab.observability.metrics.store import Store
from tests.integration.kebab.health.conftest import sample_key, samples

_THINGS = "kebab_things_total"


def test_metrics_of_processes_have_role_and_pid_until_they_end(counting, read, tmp_path):
    one, other = counting("worker"), counting("mirror")
    one.do("things.add('new'); things.add('new')")
    other.do("things.add('new', amount=5)")
    one.do("[seconds.observe(s) for s in (0.05, 0.1, 0.5, 7)]")
    own, found = {"role": "worker", "pid": one.pid}, read()
    assert found[sample_key(_THINGS, kind="before", **own)] == 2  # counted before it had a role
    assert found[sample_key(_THINGS, kind="new", **own)] == 2
    assert found[sample_key(_THINGS, kind="new", role="mirror", pid=other.pid)] == 5
    buckets = [found[sample_key("kebab_thing_seconds_bucket", le=le, **own)] for le in ("0.1", "1", "+Inf")]
    assert buckets == [2, 3, 4]
    assert found[sample_key("kebab_thing_seconds_count", **own)] == 4
    assert found[sample_key("kebab_thing_seconds_sum", **own)] == 7.65

    one.do("things.add('new'); things.add('later')")
    found = read()
    assert [found[sample_key(_THINGS, kind=kind, **own)] for kind in ("new", "later")] == [3, 1]
    one.end()
    assert {dict(labels)["pid"] for _, labels in read()} == {other.pid}
    assert len(list(tmp_path.iterdir())) == 2


def test_doctor_reports_a_web_process_with_stalled_threads(counting, settings, tmp_path):
    settings.KEBAB_METRICS_DIR = tmp_path
    one, other = counting("web"), counting("web")
    one.do("stalled.set(59.0, 'views')")
    other.do("stalled.set(3.0, 'views'); stalled.set(61.0, 'waiting uploads')")
    found = check_turns()
    assert (found.status, one.pid in found.detail, other.pid in found.detail) == ("failed", False, True)
    other.do("stalled.set(0.0, 'waiting uploads')")
    assert check_turns().status == "ok"


def test_files_of_ended_processes_do_not_accumulate(tmp_path):
    for _ in range(20):
        if not (child := os.fork()):
            Store().publish(tmp_path, "worker")
            os._exit(0)
        os.waitpid(child, 0)
    assert len(list(tmp_path.iterdir())) <= 4


def test_forked_child_starts_without_its_parents_counts(counting, read):
    parent = counting("worker")
    parent.do("import os, signal; child = os.fork(); child or signal.pause()")
    parent.do("things.add('new')")
    assert read()[sample_key(_THINGS, kind="new", role="worker", pid=parent.pid)] == 1
    (child,) = psutil.Process(int(parent.pid)).children()
    parent.end()
    assert read() == {}
    child.kill()


def test_process_keeps_counting_when_metric_files_cannot_be_written(counting, read):
    """Limit the file size, as a full disk would: writing to a hole in a mapped file kills the process."""
    one = counting("web", limit_bytes=10_000)
    one.do("things.add('new')")
    one.do("assert process_store().memory_snapshot() is not None")
    assert read() == {}


def test_full_metric_file_keeps_counting_known_series(counting, read):
    one = counting("web", limit_bytes=560_000)
    one.do("[things.add(f'{n:0>1000}') for n in range(1_000)]")
    one.do("things.add('before')")
    found = read()
    assert found[sample_key(_THINGS, kind="before", role="web", pid=one.pid)] == 3
    assert 400 < len(found) < 1_000


def test_values_of_labels_are_escaped():
    family = Family(name="kebab_x_total", help="A \\ and\na line", kind="counter", labels=("kind",))
    page, lines = Page(), []
    write_series(family, sample_names(family, {"kind": 'a"b\\c\nd'}), [1.0], lines)
    page.add(family, lines)
    assert samples(page.text().decode()) == {sample_key("kebab_x_total", kind='a"b\\c\nd'): 1}


def test_metric_file_renamed_during_cleanup_is_kept(tmp_path, monkeypatch):
    # All processes of a node start together, and each removes the files of dead ones.
    unnamed = tmp_path / "worker-7-abcd.new"
    unnamed.touch()
    (tmp_path / "worker-7-abcd.values").touch()
    look = files.is_locked

    def is_held(path):
        if path == unnamed:
            path.rename(path.with_suffix(".keys"))
        return look(path)

    monkeypatch.setattr(files, "is_locked", is_held)
    files.delete_dead_files(tmp_path)
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".keys", ".values"]


def test_metrics_port_serves_counts_without_a_web_process(settings, tmp_path):
    settings.KEBAB_METRICS_DIR = tmp_path
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        settings.KEBAB_METRICS_PORT = probe.getsockname()[1]
    Store().publish(tmp_path, "worker")
    exporter.serve_metrics()
    exporter.serve_metrics()  # of another process of the machine: the first serves its counts too
    url = f"http://127.0.0.1:{settings.KEBAB_METRICS_PORT}"
    answer = httpx.get(f"{url}/metrics")
    assert answer.status_code == 200
    assert 'process_open_fds{role="worker"' in answer.text
    assert httpx.get(f"{url}/else").status_code == 404
