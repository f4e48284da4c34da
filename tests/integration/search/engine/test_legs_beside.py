"""The legs of a search run beside each other, unless the process answers other searches."""

import threading

from search import node


def test_one_search_gets_threads_and_another_meanwhile_does_not():
    with node.legs_beside() as first, node.legs_beside() as second:
        assert first is not None
        assert second is None
    with node.legs_beside() as third:
        assert third is first


def test_a_search_that_fails_is_not_counted_any_more():
    try:
        with node.legs_beside():
            raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    with node.legs_beside() as threads:
        assert threads is not None


def test_other_threads_count():
    inside, done = threading.Event(), threading.Event()

    def search():
        with node.legs_beside():
            inside.set()
            done.wait(5)

    other = threading.Thread(target=search)
    other.start()
    inside.wait(5)
    with node.legs_beside() as threads:
        assert threads is None
    done.set()
    other.join()
