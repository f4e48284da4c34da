import json
import re
import shutil
import subprocess

import pytest
import yaml

from tests.support.paths import ROOT

FOLDER = ROOT / "deploy" / "observability"

needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool is missing: apt-get install prometheus"
)


@needs_promtool
def test_promtool_accepts_rules_and_configuration(subtests):
    program = str(shutil.which("promtool"))
    for arguments in (
        ("check", "rules", "alerts.yaml"),
        ("check", "config", "--syntax-only", "prometheus.yaml"),
        ("test", "rules", "alerts-test.yaml"),
    ):
        with subtests.test(arguments=arguments):
            done = subprocess.run(
                [program, *arguments], cwd=FOLDER, capture_output=True, text=True, timeout=60
            )
            assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_a_severity_and_a_runbook():
    page = (ROOT / "docs" / "operations" / "observability.md").read_text()
    headings = {re.sub(r"[^\w-]", "", line.lower()) for line in re.findall(r"^#+ (.+)$", page, re.M)}
    rules = [
        rule
        for group in yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"]
        for rule in group["rules"]
    ]

    assert len(rules) >= 15
    for rule in rules:
        assert rule["labels"]["severity"] in {"page", "ticket"}
        path, _, anchor = rule["annotations"]["runbook_url"].partition("#")
        assert (path, anchor) == ("docs/operations/observability.md", rule["alert"].lower())
        assert anchor in headings


def test_dashboard_can_be_imported():
    board = json.loads((FOLDER / "grafana-dashboard.json").read_text())
    panels = board["panels"]

    rows = [each["title"] for each in panels if each["type"] == "row"]
    assert rows == ["Traffic", "Search", "Ingestion", "Mirrors", "Stores", "Processes"]
    assert board["id"] is None and board["uid"] == "kebab"
    assert len({each["id"] for each in panels}) == len(panels)
    for each in panels:
        place = each["gridPos"]
        assert place["x"] + place["w"] <= 24
        assert each["type"] == "row" or (each["targets"] and each["datasource"]["uid"] == "${source}")
    assert board["templating"]["list"][0]["name"] == "source"
