import subprocess
import sys
from contextlib import ExitStack

import pytest

from kebab.locations import DOCS
from tests.acceptance.deploy.servers_by_tcp import find_program
from tests.integration.ingest.connectors.git.git_host import git_host
from tests.integration.ingest.connectors.git.repositories import WrittenRepository
from tests.integration.ingest.connectors.records.issue_hosts import TOKEN, github_host
from tests.integration.ingest.connectors.records.wiki_host import wiki_host

pytestmark = pytest.mark.slow

_FILES = {
    "docs/leave.md": (
        "# Annual leave\n\nEveryone has 28 days of annual leave a year. Ask your manager two weeks before.\n"
    ),
    "docs/expenses.md": "# Expenses\n\nSend receipts for travel within a month to the finance team.\n",
    "pump.md": "# Pump\n\nOil the pump every spring.\n",
}


def make_environment(terminal):
    """Let `python` and `pip` be those of an empty environment; uv installs within seconds."""
    folder = terminal.home / "env"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([folder / "bin" / "pip", "install", "--quiet", "uv"], check=True)
    terminal.add_program("python", f'exec "{folder}/bin/python" "$@"')
    terminal.add_program("pip", f'exec "{folder}/bin/uv" pip "$@" --python "{folder}/bin/python"')


def test_page_can_be_followed(make_reader, tmp_path):
    find_program("jq", "install Debian's jq", pytest.skip)
    with ExitStack() as hosts:
        issues, wiki = hosts.enter_context(github_host()), hosts.enter_context(wiki_host())
        issues.put("Pump leaks", "It drips.")
        wiki.put("Pump", "The pump is in the cellar.")
        pages = WrittenRepository(tmp_path / "pages")
        pages.commit({"Home.md": "# Home\n"})
        repositories = hosts.enter_context(git_host(tmp_path))
        reader = make_reader(
            {
                "https://github.com/owner/project.wiki.git": f"{repositories.url}/pages/.git",
                "https://github.com/owner/project": issues.config["url"],
                '"token": "…"': f'"token": "{TOKEN}"',
                "https://wiki.example.org/w/api.php": wiki.config["url"],
                '"password": "…"': f'"password": "{wiki.config["credentials"]["password"]}"',
            },
            KEBAB_EMBEDDER="english",
            KEBAB_PRIVATE_HOSTS="127.0.0.1",
        )
        reader.write(_FILES)
        make_environment(reader.terminal)
        reader.terminal.serve("kebab up")
        reader.type("kebab ingest docs --workspace handbook --create")
        reader.type("kebab token create --workspace handbook --scope search,ingest,manage")
        reader.follow(DOCS / "integrations.md")
