"""A few short guides, as a team would write them."""

from typing import Any

from tests.integration.search.context.workspace_files import put_file

GUIDES = {
    "guides/install.md": (
        "# Install\n\n## Linux\n\nRun the installer with `sudo ./setup.sh`. It needs 200 MB of disk space.\n"
        "\n## Windows\n\nStart `setup.exe` as an administrator and follow the wizard.\n"
    ),
    "guides/backup.md": (
        "# Backups\n\nA backup runs every night at three o'clock. Backups are kept for thirty days.\n\n"
        "## Restoring\n\nRestore a backup with `vaultctl restore DATE`; services stop meanwhile.\n"
    ),
    "guides/travel.md": (
        "# Travel\n\nThe head of the department approves travel. Trains are preferred to flights.\n\n"
        "## Expenses\n\nHand in receipts within two weeks after the journey.\n"
    ),
    "guides/printers.md": (
        "# Printers\n\nThe printer on the second floor takes A3 paper. Toner is in the cupboard beside it.\n"
    ),
}


def put_guides(workspace: Any) -> None:
    """Write the guides into the workspace."""
    for path, text in GUIDES.items():
        put_file(workspace, path, text, trust_level="primary")
