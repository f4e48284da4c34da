"""Archives as uploads."""

import io

from tests.support.api import address
from tests.support.schemas import validate


def post_archive(client, workspace, content, name="docs.zip", *, tail="/documents", headers=None, **fields):
    """Upload a file of this name as a form."""
    file = io.BytesIO(content)
    file.name = name
    body = {"file": file, **fields}
    return client.post(address(workspace, tail), body, format="multipart", headers=headers or {})


def report_of(client, workspace, job):
    """Return the report of a job."""
    report = client.get(address(workspace, f"/jobs/{job.pk}")).json()["report"]
    validate("ingest_report.v1", report)
    return report
