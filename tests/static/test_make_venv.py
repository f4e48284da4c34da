"""deploy/make-venv chooses a suitable Python."""

import shutil
import stat
import subprocess

import pytest

from tests.support.paths import ROOT

MAKE_VENV = ROOT / "deploy" / "make-venv"


@pytest.fixture
def interpreters(tmp_path):
    """Make interpreters that say which version they are, and note what environment they are to make."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in ("uname", "dirname"):
        (folder / tool).symlink_to(shutil.which(tool))

    def add(name, *, is_new_enough=True):
        script = folder / name
        script.write_text(
            "#!/bin/sh\n"
            'case "$*" in\n'
            f"  *ensurepip*) exit {int(not is_new_enough)} ;;\n"
            f"  -V) echo Python {name} ;;\n"
            f'  "-m venv"*) echo {name} made $3 ;;\n'
            "esac\n"
        )
        script.chmod(script.stat().st_mode | stat.S_IXUSR)

    add.folder = folder
    return add


def make_venv(folder, *arguments, **environment):
    done = subprocess.run(
        ["/bin/sh", MAKE_VENV, "the-venv", *arguments],
        env={"PATH": str(folder), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.splitlines()[-1:], done.stderr


def test_the_newest_python_with_wheels_comes_first(interpreters):
    for name in ("python3", "python3.11", "python3.12"):
        interpreters(name)
    assert make_venv(interpreters.folder) == (0, ["python3.12 made the-venv"], "")


def test_a_python_that_cannot_run_or_is_too_old_is_passed_over(interpreters):
    interpreters("python3.12", is_new_enough=False)
    interpreters("python3")
    assert make_venv(interpreters.folder)[:2] == (0, ["python3 made the-venv"])


def test_missing_python_is_reported_with_the_remedy(interpreters):
    interpreters("python3", is_new_enough=False)
    code, _, error = make_venv(interpreters.folder)
    assert code == 1
    assert "Install Python 3.12" in error


def test_the_python_that_is_named_is_taken(interpreters):
    interpreters("python3.12")
    interpreters("mine")
    assert make_venv(interpreters.folder, "mine")[1] == ["mine made the-venv"]
