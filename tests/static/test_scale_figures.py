"""The figures of operations/scale.md are what its commands print; connections are those of sizing.md."""

import re
import shutil
import subprocess

import pytest

from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "operations" / "scale.md").read_text()
ROWS = re.findall(r"^\| (.+?) \| (.+?) \| `(jq .+)` \|$", PAGE, re.MULTILINE)
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


@pytest.mark.parametrize(("stated", "command"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_measured_figure_is_what_its_command_prints(stated, command):
    if shutil.which("jq") is None:
        pytest.skip("install Debian's jq")
    shell = ["/bin/sh", "-c", command.replace("\\|", "|")]
    done = subprocess.run(shell, cwd=ROOT, capture_output=True, text=True, timeout=30, check=True)
    printed = [float(line) for line in done.stdout.split()]
    for number in NUMBER.findall(stated):
        assert any(value == pytest.approx(float(number.replace(",", "")), rel=0.05) for value in printed)


def test_a_node_opens_as_many_connections_as_the_page_of_sizes_has():
    sizing = (ROOT / "docs" / "operations" / "sizing.md").read_text()
    node, worker, embedder, mirror, others = map(
        int,
        re.search(
            r"`(\d+) × nodes \+ (\d+) × workers \+ (\d+) × embedders \+ (\d+) × mirrors \+ (\d+)`", sizing
        ).groups(),
    )
    each, left = node + mirror, 1_000 - 20 * worker - 10 * embedder - others
    assert f"may open {each} connections" in PAGE and f"= {left // each} nodes" in PAGE
    assert f"17 nodes would need {17 * each + 1_000 - left:,}" in PAGE
