import json
import logging
import re
import uuid

import pytest
from django.core.exceptions import ImproperlyConfigured

from kebab.observability.log_formats import (
    JsonFormatter,
    LineFormatter,
    accept_request_id,
    bind_log_fields,
    logging_settings,
)
from kebab.runtime.context_executor import ContextExecutor
from kebab.tenancy.current_workspace import acting_in, acting_nowhere

_NODE = "node-l"


def record(message, *values, error=None):
    exception = None if error is None else (type(error), error, error.__traceback__)
    return logging.LogRecord("kebab.x", logging.WARNING, __file__, 1, message, values, exception)


def log_line(*given, **named):
    return json.loads(JsonFormatter(_NODE).format(record(*given, **named)))


def test_log_line_is_one_json_object_for_any_message():
    text = JsonFormatter(_NODE).format(record('a "line"\nwith %s', "\u2028 and \ud800"))
    assert "\n" not in text and text.isascii()
    line = json.loads(text)
    assert line["message"] == 'a "line"\nwith \u2028 and \ud800'
    assert (line["level"], line["logger"], line["node"]) == ("WARNING", "kebab.x", _NODE)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])


def test_line_names_request_job_and_workspace():
    workspace_id = uuid.uuid4()
    with (
        bind_log_fields(request_id="r-1"),
        acting_in(workspace_id),
        bind_log_fields(job_id="j-1", attempt=2, request_id=""),
    ):
        line = log_line("x")
    named = {name: line[name] for name in ("request_id", "job_id", "attempt", "workspace")}
    assert named == {"request_id": "r-1", "job_id": "j-1", "attempt": 2, "workspace": str(workspace_id)}
    with acting_nowhere():
        assert {"request_id", "job_id", "workspace"}.isdisjoint(log_line("x"))


def test_threads_inherit_the_request_id():
    with bind_log_fields(request_id="r-2"), ContextExecutor(1) as threads:
        assert threads.submit(log_line, "x").result()["request_id"] == "r-2"
    with ContextExecutor(1) as threads:
        assert [line.get("request_id") for line in threads.map(log_line, ["x", "y"])] == [None, None]


def test_exception_is_logged_with_type_and_trace():
    try:
        {}["missing"]
    except KeyError as error:
        exception = log_line("it failed", error=error)["exception"]
    assert exception["type"] == "KeyError" and "test_logs" in exception["trace"]


def test_line_for_people_ends_with_request_and_job():
    assert LineFormatter().format(record("it waits")).endswith("WARNING kebab.x it waits")
    with bind_log_fields(request_id="r-3", job_id="j-3"):
        assert LineFormatter().format(record("it waits")).endswith("it waits [request=r-3 job=j-3]")


def test_harmless_request_id_is_accepted_and_another_is_replaced(subtests):
    for given in ("abc", "A-1_2.3", "x" * 64):
        assert accept_request_id(given) == given
    for given in ("", "x" * 65, "a b", "a\nb", 'a"b', "ä", "a;b", "<script>"):
        with subtests.test(given=given):
            assert re.fullmatch(r"[0-9a-f]{32}", accept_request_id(given))


def test_requests_are_logged_only_as_json():
    levels = {
        name: logging_settings("INFO", name, _NODE)["loggers"]["kebab.access"] for name in ("line", "json")
    }
    assert levels == {"line": {"level": "WARNING"}, "json": {"level": "INFO"}}
    with pytest.raises(ImproperlyConfigured, match="KEBAB_LOG_FORMAT"):
        logging_settings("INFO", "xml", _NODE)
