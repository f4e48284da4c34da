"""Each process counts into files of its own, which end with it."""

import os
import time

import psutil

from kebab.metrics.exposition import Page, sample_names, write_series
from kebab.metrics.family import Family
from kebab.metrics.instruments import SECONDS
from kebab.metrics.reading import ProcessReader
from kebab.metrics.store import Store
from tests.integration.kebab.health.conftest import named, samples

_THINGS = "kebab_things_total"


def test_what_processes_count_is_read_with_their_roles_and_pids(counting, read):
    one, other = counting("worker"), counting("mirror")
    one.do("things.add('new'); things.add('new')")
    other.do("things.add('new', amount=5)")

    found = read()
    assert found[named(_THINGS, kind="new", role="worker", pid=one.pid)] == 2
    assert found[named(_THINGS, kind="new", role="mirror", pid=other.pid)] == 5
    one.do("things.add('new'); things.add('later')")
    assert read()[named(_THINGS, kind="new", role="worker", pid=one.pid)] == 3
    assert read()[named(_THINGS, kind="later", role="worker", pid=one.pid)] == 1


def test_what_was_counted_before_a_process_had_a_role_is_kept(counting, read):
    one = counting("worker")
    assert read()[named(_THINGS, kind="before", role="worker", pid=one.pid)] == 2


def test_the_series_of_a_killed_process_end_and_its_files_go(counting, read, tmp_path):
    one, other = counting("worker"), counting("worker")
    assert {dict(labels)["pid"] for _, labels in read()} == {one.pid, other.pid}
    one.end()

    assert {dict(labels)["pid"] for _, labels in read()} == {other.pid}
    assert len(list(tmp_path.iterdir())) == 2


def test_a_hundred_killed_processes_leave_nothing_that_grows(tmp_path):
    for _ in range(100):
        if not (child := os.fork()):
            Store().publish(tmp_path, "worker")
            os._exit(0)
        os.waitpid(child, 0)

    assert len(list(tmp_path.iterdir())) <= 4


def test_a_forked_child_begins_anew_and_does_not_keep_its_parent_alive(counting, read):
    parent = counting("worker")
    parent.do("import os, signal; child = os.fork(); child or signal.pause()")
    parent.do("things.add('new')")
    assert read()[named(_THINGS, kind="new", role="worker", pid=parent.pid)] == 1
    (child,) = psutil.Process(int(parent.pid)).children()
    parent.end()

    assert read() == {}
    child.kill()


def test_buckets_are_cumulative_as_others_read_them(counting, read):
    one = counting("web")
    one.do("[seconds.observe(s) for s in (0.05, 0.1, 0.5, 7)]")

    found, own = read(), {"role": "web", "pid": one.pid}
    counts = [found[named("kebab_thing_seconds_bucket", le=le, **own)] for le in ("0.1", "1", "+Inf")]
    assert counts == [2, 3, 4]
    assert found[named("kebab_thing_seconds_count", **own)] == 4
    assert found[named("kebab_thing_seconds_sum", **own)] == 7.65


def test_where_files_cannot_be_written_a_process_goes_on(counting, read):
    """As on a full disk: memory over a hole in a file would end it by a signal."""
    one = counting("web", limit_bytes=10_000)
    one.do("things.add('new')")
    one.do("assert own_store().in_memory() is not None")

    assert read() == {}


def test_a_process_that_can_no_longer_name_series_goes_on_with_those_it_has(counting, read):
    one = counting("web", limit_bytes=560_000)
    one.do("[things.add(f'{n:0>1000}') for n in range(1_000)]")
    one.do("things.add('before')")

    found = read()
    assert found[named(_THINGS, kind="before", role="web", pid=one.pid)] == 3
    assert 400 < len(found) < 1_000


def test_values_of_labels_are_escaped():
    family = Family(name="kebab_x_total", help="A \\ and\na line", kind="counter", labels=("kind",))
    page, lines = Page(), []
    write_series(family, sample_names(family, {"kind": 'a"b\\c\nd'}), [1.0], lines)
    page.add(family, lines)

    assert samples(page.text().decode()) == {named("kebab_x_total", kind='a"b\\c\nd'): 1}


def test_counting_takes_less_than_a_hundredth_of_the_quickest_search():
    """A search counts some 25 numbers, and takes 2 ms at least."""
    store, family = Store(), Family(name="kebab_t", help="", kind="histogram", labels=("a",), bounds=(1, 2))
    began = time.thread_time()
    for _ in range(20_000):
        store.observe(family, ("x",), 1, 0.5)
    one_s = (time.thread_time() - began) / 20_000

    assert (
        25 * one_s < 0.05 * 0.002
    )  # five times as long as it takes on a machine that has nothing else to do


def test_ten_busy_processes_are_read_in_less_than_a_twentieth_of_a_second(tmp_path):
    """Of the processor's time; each has what a web process has after a day, 9,600 samples together."""
    family = Family(name="kebab_r_seconds", help="", kind="histogram", labels=("route",), bounds=SECONDS)
    stores = [Store() for _ in range(10)]
    for store in stores:
        store.publish(tmp_path, "web")
        for number in range(60):
            store.observe(family, (f"api/v1/workspaces/<str:ws>/{number}",), 3, 0.01)
    reader = ProcessReader(tmp_path)
    _read(reader)
    began = time.thread_time()
    text = _read(reader)

    assert text.count(b"kebab_r_seconds_count") == 600
    assert time.thread_time() - began < 0.05


def _read(reader):
    page = Page()
    reader.write(page)
    return page.text()
