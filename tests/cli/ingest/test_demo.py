import re
from contextlib import nullcontext
from importlib.metadata import PathDistribution

import pytest

from ingest.cli.demo import corpus
from ingest.cli.demo.corpus import write_corpus
from ingest.cli.demo.people import ADMIN, ensure_administrator, ensure_workspace
from ingest.cli.demo.stack import DemoStack
from ingest.management.commands import demo
from kebab.people.models import AuditEvent, Membership, User
from tests.cli.commands import run


@pytest.fixture
def project(tmp_path):
    made = tmp_path / "project"
    (made / "docs" / "decisions").mkdir(parents=True)
    (made / "README.md").write_text("# Kebab")
    (made / "docs" / "decisions" / "0001.md").write_text("# Decided")
    (made / "docs" / "evaluation" / "handbook" / "files").mkdir(parents=True)
    (made / "docs" / "evaluation" / "handbook" / "files" / "leave.md").write_text("# Leave")
    return made


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return a function that replaces the installed distributions by those of the given metadata."""

    def install(*metadata):
        installed = []
        for number, text in enumerate(metadata):
            (folder := tmp_path / f"{number}.dist-info").mkdir(exist_ok=True)
            (folder / "METADATA").write_text(text)
            installed.append(PathDistribution(folder))
        monkeypatch.setattr(corpus, "distributions", lambda: installed)

    return install


def files(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_corpus_is_the_documentation_and_the_packages_readmes(tmp_path, project, install):
    folder = tmp_path / "demo"
    install(
        "Metadata-Version: 2.1\nName: My_Package\n\n# Mine",
        "Metadata-Version: 1.0\nName: old\nDescription: Old text\n",
        "Metadata-Version: 1.0\nName: empty\nDescription: UNKNOWN\n",
    )
    assert write_corpus(folder, project) == 3
    assert files(folder) == {
        "kebab/docs/decisions/0001.md",
        "packages/my-package.md",
        "packages/old.md",
    }
    assert (folder / "packages/old.md").read_text() == "Old text\n"
    before = {path: (folder / path).stat().st_mtime_ns for path in files(folder)}
    write_corpus(folder, project)
    assert {path: (folder / path).stat().st_mtime_ns for path in files(folder)} == before

    install("Metadata-Version: 1.0\nName: old\nDescription: New text\n")
    write_corpus(folder, project)
    assert "packages/my-package.md" not in files(folder)
    assert (folder / "packages/old.md").read_text() == "New text\n"


def test_administrator_is_made_once_with_a_password_that_works_and_owns_the_workspace(db):
    first = ensure_administrator()
    again = ensure_administrator()
    workspace = ensure_workspace(first.user)
    member = Membership.objects.get()

    assert first.user.email == ADMIN
    assert first.user.check_password(first.password)
    assert (again.user, again.password) == (first.user, None)
    assert ensure_workspace(first.user) == workspace
    assert (member.user, member.role) == (first.user, "owner")
    assert AuditEvent.objects.get(workspace=workspace).action == "workspace.created"
    assert AuditEvent.objects.get(action="user.added").subject == ADMIN
    User.objects.update(is_superuser=False)
    operator = User.objects.create_superuser("root@example.org", "secret")
    assert ensure_administrator().user == operator


def test_interrupted_demonstration_tells_how_to_sign_in(db, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    stack = DemoStack(url="http://127.0.0.1:8000", child=None)
    monkeypatch.setattr(demo, "serving_stack", lambda *_: nullcontext(stack))
    monkeypatch.setattr(demo.signal, "signal", lambda *_: None)
    monkeypatch.setattr(demo.Command, "_ingest", interrupt)

    code, out, _ = run("demo")
    user = User.objects.get()
    password = re.search(rf"{re.escape(ADMIN)} with (\S+)", out)[1]
    assert (code, user.email) == (130, ADMIN)
    assert user.check_password(password)
    assert "http://127.0.0.1:8000" in out

    code, out, _ = run("demo")
    assert (code, f"kebab changepassword {ADMIN}" in out) == (130, True)
