"""The OpenAPI document describes every operation, and generating it gives no warning."""

import io

import yaml
from django.core.management import call_command


def test_the_document_is_valid_and_complete():
    out = io.StringIO()
    call_command("spectacular", "--validate", "--fail-on-warn", stdout=out)
    document = yaml.safe_load(out.getvalue())

    paths = document["paths"]
    assert paths["/api/v1/workspaces/{ws}/documents"]["post"]["requestBody"]["content"].keys() == {
        "multipart/form-data",
        "application/json",
    }
    answer = paths["/api/v1/workspaces/{ws}/search"]["get"]["responses"]["200"]
    assert "hits" in answer["content"]["application/json"]["schema"]["properties"]
    for path in paths.values():
        for operation in path.values():
            assert operation["description"]
