"""The admin on a million rows: what its pages read is bounded, and so is the number of their statements."""

import json
import re
import time

from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.admin.many import fill

# Of one page: those of the session, the person, the filters' choices, the window, the count and the rows.
MOST_STATEMENTS = 16
# The window of a list, and what is joined to the page.
MOST_ROWS = 15_000
MOST_SECONDS = 10


def addresses(workspace):
    """Every list with its second page, filters and searches, and a row of each."""
    ws, version, source = f"workspace__id__exact={workspace.pk}", md5_uuid("v1"), md5_uuid("s1")
    yield from (
        "/admin/",
        "/admin/autocomplete/?app_label=search&model_name=source&field_name=workspace&term=h",
    )
    for page in (
        "",
        "&p=2",
        "&p=200",
        "&media__exact=pdf",
        "&media__exact=text",
        "&trust_level__exact=primary",
    ):
        yield f"/admin/search/document/?{ws}{page}"
        yield f"/admin/search/document/?{ws}&version={version}{page}"
    for term in ("Title 9", "title", "a/77777.md", "nothing", f"{77_777:032x}"):
        yield f"/admin/search/document/?{ws}&q={term}"
    yield from ("/admin/search/document/77777/change/", "/admin/search/document/77777/passages/")
    for page in (
        "",
        "p=2",
        "state__exact=failed",
        "state__exact=running",
        "kind__exact=embed",
        f"q={md5_uuid('j9')}",
    ):
        yield from (f"/admin/ingest/job/?{page}", f"/admin/ingest/job/?{ws}&{page}")
    yield f"/admin/ingest/job/{md5_uuid('j7')}/change/"
    for page in ("", "p=2", ws, f"{ws}&p=200"):
        yield f"/admin/ingest/unreadable/?{page}"
    for page in (
        "",
        "p=2",
        "state__exact=error",
        "kind__exact=git",
        "is_restricted__exact=1",
        "q=s7",
        f"{ws}&q=s7",
    ):
        yield f"/admin/search/source/?{page}"
    yield f"/admin/search/source/{source}/change/"
    yield from (f"/admin/search/sourceversion/?{ws}", f"/admin/search/sourceversion/{version}/change/")
    yield f"/admin/search/embeddingspace/?{ws}&state__exact=live"
    for page in ("", "p=200", "q=p77", "is_active__exact=0", "is_staff__exact=1"):
        yield f"/admin/people/user/?{page}"
    for page in (
        "",
        "p=2",
        ws,
        f"{ws}&p=100",
        f"{ws}&role__exact=owner",
        "role__exact=admin",
        "q=p77",
        "q=p77+handbook",
        "q=handbook",
    ):
        yield f"/admin/people/membership/?{page}"
    for page in ("", "p=2", ws, "q=t77"):
        yield f"/admin/people/apitoken/?{page}"
    for page in ("", "p=2", "actor=p7", "action_begins=rare", "actor=nobody"):
        yield from (f"/admin/people/auditevent/?{page}", f"/admin/people/auditevent/?{ws}&{page}")
    yield from (
        "/admin/people/workspace/",
        f"/admin/people/workspace/{workspace.pk}/change/",
        "/admin/people/group/",
    )
    yield from ("/admin/people/invitation/", f"/admin/people/invitation/?{ws}")


def md5_uuid(text):
    with connection.cursor() as cursor:
        cursor.execute("SELECT md5(%s)::uuid::text", [text])
        return cursor.fetchone()[0]


def _statement(asked):
    """Give the SQL without what the database backend sends before it."""
    return re.sub(r"^SET LOCAL [^;]*;", "", asked["sql"]).strip()


def rows_read(statement):
    """How many rows the scans of a statement have met, those that a filter threw away included."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}")
        found = cursor.fetchone()[0]
    plans = json.loads(found) if isinstance(found, str) else found
    return sum(map(_met, plans[0]["Plan"].get("Plans", []))) + _own(plans[0]["Plan"])


def _met(plan):
    return _own(plan) + sum(map(_met, plan.get("Plans", [])))


def _own(plan):
    if "Scan" not in plan["Node Type"]:
        return 0
    thrown = sum(plan.get(f"Rows Removed by {why}", 0) for why in ("Filter", "Index Recheck"))
    return (plan["Actual Rows"] + thrown) * plan["Actual Loops"]


def test_every_page_reads_little_of_a_million_rows(transactional_db, office, workspace):
    fill(workspace)
    listed = f"/admin/search/document/?workspace__id__exact={workspace.pk}"
    assert "10000 or more documents" in office.get(listed).content.decode()
    assert "0 documents among the newest 10000" in office.get(f"{listed}&media__exact=pdf").content.decode()
    measured: dict[str, float] = {}
    for address in addresses(workspace):
        began = time.monotonic()
        with CaptureQueriesContext(connection) as asked:
            response = office.get(address)
        seconds = time.monotonic() - began
        statements = [sql for sql in map(_statement, asked) if sql.startswith("SELECT")]
        for sql in set(statements) - measured.keys():
            measured[sql] = rows_read(sql)
        read = max(measured[sql] for sql in statements)

        assert response.status_code == 200, address
        assert len(asked) <= MOST_STATEMENTS, (address, *(each["sql"] for each in asked))
        assert read <= MOST_ROWS, (address, read, *statements)
        assert seconds < MOST_SECONDS, address
