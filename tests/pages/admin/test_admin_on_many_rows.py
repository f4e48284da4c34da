"""The admin on a million rows: bounded reads and statements per page."""

import json
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ingest.models import Unreadable
from kebab.admin.changelist import FOUND
from kebab.admin.site import site
from kebab.identity.models import Membership, User
from tests.pages.admin.bulk_rows import fill

pytestmark = pytest.mark.slow

# Of one page: those of the session, the person, the filters' choices, the window, the count and the rows, or
# of what belongs to the row.
MOST_STATEMENTS = 14
# Of one statement: the window of a list, and what is joined to the page.
MOST_ROWS = 10_500
# Rows that a page of a list shows.
PAGE = 50


#: What is asked of the list of each model: second and later pages, filters, searches.
LISTS = {
    "ingest/job": [
        f"{place}{asked}"
        for place in ("", "{ws}&")
        for asked in (
            "",
            "p=2",
            "state__exact=failed",
            "state__exact=running",
            "kind__exact=embed",
            "q={job}",
        )
    ],
    "ingest/unreadable": ["", "p=2", "{ws}", "{ws}&p=200"],
    "people/apitoken": ["", "p=2", "{ws}", "q=t77"],
    "people/auditevent": [
        f"{place}{asked}"
        for place in ("", "{ws}&")
        for asked in ("", "p=2", "actor=p7", "action__icontains=rare", "actor=nobody")
    ],
    "people/group": ["", "p=2", "{ws}"],
    "people/invitation": ["", "p=2", "{ws}"],
    "people/membership": [
        *("", "p=2", "{ws}", "{ws}&p=100", "{ws}&role__exact=owner", "role__exact=admin"),
        *("q=p77", "{ws}&q=p77"),
    ],
    "people/user": ["", "p=200", "q=p77", "is_active__exact=0", "is_staff__exact=1"],
    "people/workspace": ["", "p=2", "q=w7"],
    "search/document": [
        *(
            f"{{ws}}{asked}"
            for asked in (
                "",
                "&p=2",
                "&p=200",
                "&media__exact=pdf",
                "&media__exact=text",
                "&trust_level__exact=primary",
                "&path__icontains=a/777",
                "&q=nothing",
                f"&q={77_777:032x}",
            )
        ),
    ],
    "search/embeddingspace": ["{ws}", "{ws}&p=2", "{ws}&state__exact=live"],
    "search/source": [
        *("", "p=2", "state__exact=error", "kind__exact=git", "is_restricted__exact=1", "q=s7", "{ws}&q=s7")
    ],
    "search/sourceversion": ["{ws}", "{ws}&p=2"],
}
#: Other pages: the first one, what a field suggests, and a row of each model that has many.
PAGES = (
    "/admin/",
    "/admin/autocomplete/?app_label=search&model_name=source&field_name=workspace&term=h",
    "/admin/ingest/job/{job}/change/",
    "/admin/ingest/unreadable/{entry}/change/",
    "/admin/people/apitoken/{token}/change/",
    "/admin/people/auditevent/{event}/change/",
    "/admin/people/group/{group}/change/",
    "/admin/people/invitation/{invitation}/change/",
    "/admin/people/membership/{member}/change/",
    "/admin/people/user/{user}/change/",
    "/admin/people/workspace/{workspace}/change/",
    "/admin/search/document/77777/change/",
    "/admin/search/embeddingspace/7/change/",
    "/admin/search/source/{source}/change/",
    "/admin/search/sourceversion/{version}/change/",
)


_SEEDS = {
    "event": "e7",
    "group": "g7",
    "invitation": "i7",
    "job": "j7",
    "source": "s1",
    "token": "t7",
    "version": "v1",
}


def addresses(workspace):
    known = {
        "ws": f"workspace__id__exact={workspace.pk}",
        "workspace": workspace.pk,
        "user": User.objects.get(email="p7@example.org").pk,
        "member": Membership.objects.get(user__email="p7@example.org").pk,
        "entry": Unreadable.objects.get(path="a/7").pk,
        **{name: md5_uuid(seed) for name, seed in _SEEDS.items()},
    }
    lists = (f"/admin/{model}/?{asked}" for model, each in LISTS.items() for asked in each)
    return [address.format(**known) for address in (*lists, *PAGES)]


def md5_uuid(text):
    with connection.cursor() as cursor:
        cursor.execute("SELECT md5(%s)::uuid::text", [text])
        return cursor.fetchone()[0]


def _statement(asked):
    """Return the SQL without the prefix of the database backend."""
    return re.sub(r"^SET LOCAL [^;]*;", "", asked["sql"]).strip()


def rows_read(statement):
    """Count the rows that a statement's scans read, including those that a filter dropped."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}")
        found = cursor.fetchone()[0]
    plans = json.loads(found) if isinstance(found, str) else found
    return sum(map(_rows_of_plan, plans[0]["Plan"].get("Plans", []))) + _rows_of_node(plans[0]["Plan"])


def _rows_of_plan(plan):
    return _rows_of_node(plan) + sum(map(_rows_of_plan, plan.get("Plans", [])))


def _rows_of_node(plan):
    if "Scan" not in plan["Node Type"]:
        return 0
    thrown = sum(plan.get(f"Rows Removed by {why}", 0) for why in ("Filter", "Index Recheck"))
    return (plan["Actual Rows"] + thrown) * plan["Actual Loops"]


def test_every_page_reads_little_of_a_million_rows(transactional_db, office, workspace):
    fill(workspace)
    listed = f"/admin/search/document/?workspace__id__exact={workspace.pk}"
    assert "10,000+ documents" in office.get(listed).content.decode()
    assert "0 documents of the newest 10,000" in office.get(f"{listed}&media__exact=pdf").content.decode()
    assert {model._meta.label_lower.replace(".", "/") for model in site._registry} == LISTS.keys()
    measured: dict[str, float] = {}
    for address in addresses(workspace):
        response, asked = _get(office, address)
        statements = [sql for sql in map(_statement, asked) if sql.startswith("SELECT")]
        for sql in set(statements) - measured.keys():
            measured[sql] = rows_read(sql)
        read = max(measured[sql] for sql in statements)

        assert response.status_code == 200, address
        assert len(asked) <= MOST_STATEMENTS, (address, *(each["sql"] for each in asked))
        assert read <= MOST_ROWS, (address, read, *statements)


def test_search_does_not_scan_the_whole_list(transactional_db, office, workspace):
    fill(workspace, tables=("people_workspace", "people_user", "people_membership"), others=400_000)
    response, asked = _get(office, "/admin/people/membership/?q=p")
    read = [rows_read(sql) for sql in map(_statement, asked) if sql.startswith("SELECT")]

    assert "1,000 memberships" in response.content.decode()
    assert max(read) <= 2 * FOUND + PAGE


def _get(office, address):
    with CaptureQueriesContext(connection) as asked:
        response = office.get(address)
    return response, asked
