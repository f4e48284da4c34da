"""Code of other versions: earlier releases from the history, and a hypothetical later one."""

import shutil
import subprocess
import sys
import tarfile
from importlib import metadata
from io import BytesIO
from pathlib import Path

import pytest
from django.db.migrations.loader import MigrationLoader
from packaging.requirements import Requirement

from tests.support.paths import ROOT
from tests.support.stack import Stack

# The commit of each earlier release.
RELEASES = {"0.1.0": "b4752f8", "0.2.0": "8ce1522", "0.3.0": "decdc6b"}
_PACKAGES = "packages"
_LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".kebab", "tests", "__pycache__", ".*_cache")
_COLUMN = """
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("search", "{latest}")]
    operations = [migrations.AddField("document", "later_note", models.TextField(null=True))]
"""
_INDEX = """
from django.db import migrations, models

from kebab.tenancy.migration_operations import AddIndexBeside


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("search", "9001_column")]
    operations = [AddIndexBeside("chunk", models.Index(fields=("workspace", "ordinal"), name="chunk_later"))]
"""


class VersionedStack(Stack):
    """A stack that runs the code below `code`, with the packages next to it before the installed ones."""

    def __init__(self, code: Path, data_dir: Path, **environment: str) -> None:
        super().__init__(data_dir, PYTHONPATH=str(code / _PACKAGES), **environment)
        self._manage = code / "manage.py"

    def start(self, *arguments: str, **streams: object) -> "subprocess.Popen[bytes]":
        """Start a command."""
        command = [sys.executable, str(self._manage), *arguments]
        return subprocess.Popen(command, env=self.environment, cwd="/", **streams)

    def run(self, *arguments: str, limit_s: float = 120.0) -> "subprocess.CompletedProcess[str]":
        """Run a command until it ends."""
        command = [sys.executable, str(self._manage), *arguments]
        return subprocess.run(
            command,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
            cwd="/",
        )


def unpack_release(version: str, folder: Path) -> Path:
    """Unpack an earlier release into `folder`, with its packages that this version doesn't have.

    Skips the test when the history is missing.
    """
    command = ["git", "-C", str(ROOT), "archive", "--format=tar", RELEASES[version]]
    found = subprocess.run(command, capture_output=True, check=False)
    if found.returncode != 0:
        pytest.skip(f"release {version} is not in this clone; run: git fetch --unshallow")
    with tarfile.open(fileobj=BytesIO(found.stdout)) as archive:
        archive.extractall(folder, filter="data")
    _install_missing(folder / "requirements.txt", folder / _PACKAGES)
    return folder


def _install_missing(requirements: Path, folder: Path) -> None:
    # Later releases have the hashes of each on the next lines, which are not checked here.
    lines = (line.partition("#")[0].strip(" \\") for line in requirements.read_text().splitlines())
    packages = (line for line in lines if line and not line.startswith("--"))
    missing = [line for line in packages if not _is_installed(Requirement(line))]
    if missing:
        command = [sys.executable, "-m", "pip", "--quiet", "install", "--no-deps", "--target", str(folder)]
        subprocess.run([*command, *missing], check=True)


def _is_installed(requirement: Requirement) -> bool:
    if requirement.marker is not None and not requirement.marker.evaluate():
        return True
    try:
        return metadata.version(requirement.name) in requirement.specifier
    except metadata.PackageNotFoundError:
        return False


def next_release(folder: Path) -> Path:
    """Copy this code into `folder`, with a column and an index of a hypothetical later version."""
    shutil.copytree(ROOT, folder, ignore=_LEFT_OUT, dirs_exist_ok=True)
    ((_, latest),) = MigrationLoader(None).graph.leaf_nodes("search")
    migrations = folder / "search" / "migrations"
    (migrations / "9001_column.py").write_text(_COLUMN.format(latest=latest))
    (migrations / "9002_index.py").write_text(_INDEX)
    return folder
