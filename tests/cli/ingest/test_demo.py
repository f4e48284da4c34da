import re
from contextlib import nullcontext
from importlib.metadata import PathDistribution

import pytest
from django.conf import settings

from ingest.cli.demo import corpus
from ingest.cli.demo.corpus import write_corpus
from ingest.cli.demo.people import ADMIN, EXAMPLES, ensure_administrator, ensure_workspace
from ingest.cli.demo.stack import DemoStack
from ingest.jobs.queue.run import run_job
from ingest.management.commands import demo
from ingest.models import Job
from ingest.parsers.content_type import identify
from ingest.parsers.markup.markdown import parse_markdown
from ingest.parsers.markup.rst import parse_rst
from ingest.parsers.titles import title_of
from kebab.cli.client import job_progress
from kebab.cli.in_process import this_process
from kebab.identity.models import AuditEvent, Membership, User
from search.models import Chunk, Source
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
    """Return a function that replaces the installed distributions by others with the given metadata."""

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


@pytest.fixture
def no_other_kinds(tmp_path, monkeypatch):
    monkeypatch.setattr(corpus, "_OTHER_KINDS", tmp_path / "none")


@pytest.mark.usefixtures("no_other_kinds")
def test_corpus_is_the_handbook_the_documentation_and_the_packages_readmes(tmp_path, project, install):
    folder = tmp_path / "demo"
    install(
        "Metadata-Version: 2.1\nName: My_Package\n\n# Mine",
        "Metadata-Version: 1.0\nName: old\nDescription: Old text\n",
        "Metadata-Version: 1.0\nName: empty\nDescription: UNKNOWN\n",
    )
    assert write_corpus(folder, project) == 4
    assert files(folder) == {
        "handbook/leave.md",
        "kebab/docs/decisions/0001.md",
        "packages/my-package.md",
        "packages/old.rst",
    }
    assert (folder / "packages/old.rst").read_text() == "old\n===\n\nOld text\n"
    before = {path: (folder / path).stat().st_mtime_ns for path in files(folder)}
    write_corpus(folder, project)
    assert {path: (folder / path).stat().st_mtime_ns for path in files(folder)} == before

    install("Metadata-Version: 1.0\nName: old\nDescription: New text\n")
    write_corpus(folder, project)
    assert "packages/my-package.md" not in files(folder)
    assert (folder / "packages/old.rst").read_text() == "old\n===\n\nNew text\n"


KINDS = {".md", ".html", ".txt", ".rst", ".csv", ".py", ".sql", ".sh", ".yaml"} | {
    ".ipynb",
    ".eml",
    ".xlsx",
    ".docx",
    ".pptx",
    ".pdf",
}
READMES = [
    ("text/markdown", "# One\n\nText", "md", "# One\n\nText\n"),
    (
        "text/markdown; charset=UTF-8",
        "<h1><img src=x></h1>\n\n## Conduct",
        "md",
        "# one\n\n<h1><img src=x></h1>",
    ),
    ("text/x-rst", "===\nOne\n===\n\nText", "rst", "===\nOne\n===\n\nText\n"),
    ("text/x-rst", ".. image:: x.png\n\nDonations\n=========", "rst", "one\n===\n\n.. image:: x.png"),
    ("text/x-rst", "Overview\n========\n\nText", "rst", "one\n===\n\nOverview\n========"),
    ("text/plain", "One is one.", "txt", "one\n===\n\nOne is one."),
    ("", "One\n===\n\n`it <https://x>`_::\n\n    x", "rst", "One\n===\n"),
    ("", "# One\n\n[it](https://x)", "md", "# One\n"),
]


@pytest.mark.parametrize(("content_type", "text", "suffix", "beginning"), READMES)
def test_readme_has_the_suffix_of_its_type_and_a_title(
    tmp_path, project, install, content_type, text, suffix, beginning
):
    stated = f"Description-Content-Type: {content_type}\n" if content_type else ""
    install(f"Metadata-Version: 2.1\nName: one\n{stated}\n{text}")
    write_corpus(tmp_path / "demo", project)
    assert (tmp_path / "demo" / "packages" / f"one.{suffix}").read_text().startswith(beginning)


@pytest.mark.slow
def test_readme_titles_are_words_instead_of_underlines(tmp_path, project):
    write_corpus(tmp_path / "demo", project)
    parsers = {".md": parse_markdown, ".rst": parse_rst}
    for path in sorted((tmp_path / "demo" / "packages").iterdir()):
        if path.suffix in parsers:
            file = identify(path.read_bytes(), path.name)
            title = title_of(parsers[path.suffix](path.read_bytes(), file), file)
            assert re.match(r"\W{0,3}\w", title), (path.name, title)


def test_handbook_has_every_kind_and_the_documents_of_the_examples(tmp_path):
    write_corpus(tmp_path, settings.BASE_DIR)
    suffixes = {path.suffix for path in (tmp_path / "handbook").rglob("*.*")}
    assert suffixes >= KINDS
    assert {path for path in EXAMPLES.values() if not (tmp_path / path).is_file()} == set()


def test_administrator_is_made_once_with_a_password_that_works_and_owns_the_workspace(db):
    first = ensure_administrator()
    again = ensure_administrator()
    workspace = ensure_workspace(first.user)
    member = Membership.objects.get()

    assert first.user.email == ADMIN
    assert first.user.check_password(first.password)
    assert (again.user, again.password) == (first.user, None)
    assert ensure_workspace(first.user) == workspace
    assert workspace.settings["example_queries"] == list(EXAMPLES)
    assert (member.user, member.role) == (first.user, "owner")
    assert AuditEvent.objects.get(workspace=workspace).action == "workspace.created"
    assert AuditEvent.objects.get(action="user.added").subject == ADMIN
    User.objects.update(is_superuser=False)
    operator = User.objects.create_superuser("root@example.org", "secret")
    assert ensure_administrator().user == operator


@pytest.fixture
def running_stack(monkeypatch):
    """Let this process be the stack; it runs one job while the command sleeps."""

    def work():
        job = Job.objects.all().due().first()
        run_job(job.workspace_id, job.pk)

    stack = DemoStack(url="http://127.0.0.1:8000", child=None)
    monkeypatch.setattr(demo, "serving_stack", lambda *_: nullcontext(stack))
    monkeypatch.setattr(demo, "Connection", lambda **_: this_process())
    monkeypatch.setattr("kebab.cli.client.connection.connect", lambda _: nullcontext(this_process()))
    monkeypatch.setattr(job_progress.time, "sleep", lambda _: work())
    monkeypatch.setattr(demo.signal, "signal", lambda *_: None)


@pytest.mark.usefixtures("transactional_db", "mirrors", "blobs", "running_stack")
def test_demonstration_ingests_as_the_command_does_and_does_not_wait_for_all_vectors(
    monkeypatch, settings, tmp_path
):
    def write(folder, _):
        folder.mkdir()
        (folder / "bar.md").write_text("# Bars\n\nHow to show a progress bar in the terminal.\n")

    settings.KEBAB_DATA_DIR, settings.KEBAB_PARSERS = tmp_path, 1
    monkeypatch.setattr(demo, "write_corpus", write)
    monkeypatch.setattr(demo, "_VECTORS_LIMIT_S", 0.0)

    code, out, err = run("demo", "--once")

    source = Source.objects.get()
    assert (code, source.key, source.default_trust) == (0, "demo", "primary")
    assert Chunk.objects.count() == 1
    assert "bar.md" in out.partition("Searching for")[2]
    assert "Ingesting" in err and "Embedding" in err
    assert Job.objects.get(kind="embed").state == "queued"


def test_interrupted_demonstration_tells_how_to_sign_in(db, running_stack, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(demo.Command, "_ingest", interrupt)

    code, out, _ = run("demo")
    user = User.objects.get()
    password = re.search(rf"{re.escape(ADMIN)} with (\S+)", out)[1]
    assert (code, user.email) == (130, ADMIN)
    assert user.check_password(password)
    assert "http://127.0.0.1:8000" in out

    code, out, _ = run("demo")
    assert (code, f"kebab changepassword {ADMIN}" in out) == (130, True)
