"""Archives as they are looked into: what is taken, what is left out, what is refused."""

import gzip
import io
import random
import shutil
import subprocess
import tarfile
import zipfile
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.archives.errors import (
    ArchiveBroken,
    ArchiveEncrypted,
    ArchiveOverLimit,
    ArchiveRefused,
    MemberBroken,
)
from ingest.archives.limits import ArchiveLimits
from ingest.archives.listing import WantedMember, list_members
from ingest.archives.names import is_archive, is_unpacked, without_suffix
from ingest.archives.open_archive import open_archive
from ingest.connectors import ignore_files
from tests.support.paths import FILES
from tests.unit.ingest.packing import (
    DEVICE,
    LINK,
    TARS,
    overlapping_zip,
    special,
    tarred,
    zip_with_modes,
    zipped,
)

#: made by real tools; see its README
REAL = FILES / "archives"
TAR = shutil.which("tar") or "tar"
LIMITS = ArchiveLimits(max_members=1_000, max_unpacked_bytes=100_000_000)
FILES = {
    "README.md": "# Read me\n",
    "guide/install.md": "# Install\n",
    "guide/short.md": b"x",
    "odd.md": b"x" * 511,
}


def look(content, limits=LIMITS):
    """Give what is wanted (content by path) and what is left out (reason by path)."""
    file = io.BytesIO(content)
    with open_archive(file, limits) as archive:
        entries = list(list_members(archive, limits))
    wanted = {entry.index: entry.path for entry in entries if isinstance(entry, WantedMember)}
    with open_archive(file, limits) as archive:
        found = {wanted[each.index]: archive.read(each) for each in archive.members() if each.index in wanted}
    return found, {entry.path: str(entry.reason) for entry in entries if not isinstance(entry, WantedMember)}


def as_bytes(files):
    return {name: body if isinstance(body, bytes) else body.encode() for name, body in files.items()}


def test_a_zip_is_read_member_by_member():
    assert look(zipped(FILES)) == (as_bytes(FILES), {})


@pytest.mark.parametrize("mode", TARS.values())
def test_a_tar_is_read_member_by_member(mode):
    assert look(tarred(FILES, mode)) == (as_bytes(FILES), {})


@pytest.mark.parametrize("compression", ["-z", "-j", "-J", ""])
def test_what_the_command_tar_makes_is_read(tmp_path, compression):
    (tmp_path / "docs" / "deep").mkdir(parents=True)
    (tmp_path / "docs" / "a.md").write_text("# A\n")
    (tmp_path / "docs" / "deep" / ("n" * 120 + "ü.md")).write_text("# Long\n")
    (tmp_path / "docs" / "link.md").symlink_to("a.md")
    options = [compression] if compression else []
    subprocess.run([TAR, "-c", *options, "-f", "made", "-C", "docs", "."], cwd=tmp_path, check=True)

    found, left_out = look((tmp_path / "made").read_bytes())

    assert found == {"a.md": b"# A\n", "deep/" + "n" * 120 + "ü.md": b"# Long\n"}
    assert left_out == {"link.md": "link"}


def test_streams_one_behind_the_other_are_one_archive(tmp_path):
    packed = tarred(FILES)
    halves = gzip.compress(packed[:700]) + gzip.compress(packed[700:]) + bytes(100)
    assert look(halves) == (as_bytes(FILES), {})


def test_the_caps_of_sizes_hold_in_archives(settings):
    settings.KEBAB_CODE_LIMIT_BYTES, settings.KEBAB_DOCUMENT_LIMIT_BYTES = 10, 20
    found, left_out = look(zipped({"a.py": "x = 1", "b.py": "x" * 11, "c.md": "x" * 15, "d.md": "x" * 21}))
    assert (set(found), left_out) == ({"a.py", "c.md"}, {"b.py": "too_large", "d.md": "too_large"})


def test_an_archive_with_an_endless_ignore_file_is_refused():
    endless = "\n".join(f"name{n}" for n in range(40_000))
    for packed in (zipped({"docs/.gitignore": endless}), tarred({"docs/.gitignore": endless})):
        with pytest.raises(ArchiveOverLimit, match=r"docs/.gitignore has more than 262,144 bytes"):
            look(packed)


def test_an_archive_whose_ignore_files_are_too_large_together_is_refused(monkeypatch):
    monkeypatch.setattr(ignore_files, "MAX_WALK_BYTES", 100)
    files = {f"{n}/.gitignore": f"a{n}\n" * 20 for n in range(3)}
    with pytest.raises(ArchiveOverLimit, match="more than 100 bytes together"):
        look(zipped(files))


def test_the_ignore_files_of_an_archive_are_heeded_wherever_they_come():
    files = {
        "a.log": "x",
        "docs/b.md": "# B\n",
        "docs/c.tmp": "x",
        ".gitignore": "*.log\n",
        "docs/.kebabignore": "*.tmp",
    }
    for packed in (zipped(files), tarred(files, "w:gz")):
        found, left_out = look(packed)
        assert (set(found), left_out) == (
            {".gitignore", "docs/.kebabignore", "docs/b.md"},
            {"a.log": "ignored", "docs/c.tmp": "ignored"},
        )


def test_what_a_folder_leaves_out_an_archive_does_too():
    files = {
        "node_modules/x/index.js": "1",
        "package-lock.json": "{}",
        "app.min.js": "1",
        ".git/config": "x",
        "__MACOSX/._a.md": "x",
        "large.py": "#" * 600_000,
        "a.md": "# A\n",
    }
    found, left_out = look(zipped(files))
    assert set(found) == {"a.md"}
    assert left_out == {
        "node_modules/": "skipped_directory",
        "package-lock.json": "lock_file",
        "app.min.js": "minified",
        ".git/": "skipped_directory",
        "__MACOSX/": "skipped_directory",
        "large.py": "too_large",
    }


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../outside.md", "path_outside"),
        ("a/../../outside.md", "path_outside"),
        ("/etc/outside.md", "absolute_path"),
        ("C:/outside.md", "absolute_path"),
        ("c:outside.md", "absolute_path"),
        ("..\\outside.md", "backslash_in_path"),
        ("a#b.md", "hash_in_path"),
        ("a\nb.md", "control_character_in_name"),
        ("long/" * 300 + "a.md", "path_too_long"),
        ("inner.zip", "nested_archive"),
        ("inner.tar.gz", "nested_archive"),
        ("inner.7z", "nested_archive"),
    ],
)
def test_a_member_that_may_not_come_is_left_out_with_its_reason(name, reason):
    for packed in (zipped({name: "x", "a.md": "# A\n"}), tarred({name: "x", "a.md": "# A\n"})):
        found, left_out = look(packed)
        assert (set(found), list(left_out.values())) == ({"a.md"}, [reason])


def test_a_name_with_a_nul_is_left_out():
    packed = zipped({"aXb.md": "x"}).replace(b"aXb.md", b"a\0b.md")
    assert look(packed) == ({}, {"a\\x00b.md": "control_character_in_name"})


def test_links_and_devices_are_left_out():
    others = [
        special("sym.md", tarfile.SYMTYPE),
        special("hard.md", tarfile.LNKTYPE, "a.md"),
        special("pipe", tarfile.FIFOTYPE),
        special("disk", tarfile.BLKTYPE),
    ]
    expected = {"sym.md": "link", "hard.md": "link", "pipe": "special_file", "disk": "special_file"}
    assert look(tarred({"a.md": "# A\n"}, "w:gz", *others)) == ({"a.md": b"# A\n"}, expected)
    packed = zip_with_modes({"sym.md": LINK, "disk": DEVICE})
    assert look(packed) == ({}, {"sym.md": "link", "disk": "special_file"})


def test_names_without_a_declared_encoding_are_utf8_where_they_can_be():
    packed = bytearray(zipped({"für.md": "x"}))
    for signature, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        flags = packed.index(signature) + place
        packed[flags : flags + 2] = b"\0\0"
    assert set(look(bytes(packed))[0]) == {"für.md"}


def test_of_two_members_with_one_path_the_later_counts():
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for text in (b"old", b"new"):
            info = tarfile.TarInfo("a.md")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))
    assert look(packed.getvalue()) == ({"a.md": b"new"}, {"a.md": "duplicate_path"})


def test_too_many_members_are_refused_before_they_are_read():
    limits = ArchiveLimits(max_members=10, max_unpacked_bytes=1_000_000)
    files = {f"{n}.md": "x" for n in range(11)}
    for packed in (zipped(files), tarred(files, "w:gz")):
        with pytest.raises(ArchiveOverLimit, match=r"10 members.*KEBAB_ARCHIVE_MEMBER_LIMIT"):
            look(packed, limits)


def test_a_directory_of_many_records_is_refused_before_it_is_parsed(monkeypatch):
    limits = ArchiveLimits(max_members=1_000, max_unpacked_bytes=1_000_000)
    packed = zipped({f"{n}.md": "" for n in range(2_000)})
    monkeypatch.setattr(zipfile, "ZipInfo", None)  # it would be made for each record
    with pytest.raises(ArchiveOverLimit, match="1,000 members"), open_archive(io.BytesIO(packed), limits):
        pass


def test_folders_within_folders_are_counted():
    limits = ArchiveLimits(max_members=50, max_unpacked_bytes=1_000_000)
    with pytest.raises(ArchiveOverLimit, match="50 folders"):
        look(zipped({f"{n}/" + "d/" * 40 + "a.md": "x" for n in range(3)}), limits)


def test_too_many_bytes_are_refused_by_the_limits_name():
    limits = ArchiveLimits(max_members=10, max_unpacked_bytes=50_000)
    files = {"a.md": "text " * 8_000, "b.md": "other " * 8_000}
    for packed in (zipped(files), tarred(files), tarred(files, "w:xz")):
        with pytest.raises(ArchiveOverLimit, match=r"50,000 bytes.*KEBAB_ARCHIVE_UNPACKED_LIMIT_BYTES"):
            look(packed, limits)


@pytest.mark.parametrize(
    "pack", [zipped, lambda files: tarred(files, "w:gz"), lambda files: tarred(files, "w:xz")]
)
def test_a_bomb_is_refused_for_its_ratio(pack):
    with pytest.raises(ArchiveOverLimit, match="200 times"):
        look(pack({"zeros.md": bytes(30_000_000)}))


def test_a_member_cannot_be_larger_than_it_announces():
    packed = bytearray(zipped({"a.md": b"0" * 1_000_000}))
    size = packed.index(b"PK\x01\x02") + 24
    packed[size : size + 4] = (10).to_bytes(4, "little")
    with pytest.raises(MemberBroken):
        look(bytes(packed))


def test_members_that_overlap_are_refused():
    with pytest.raises(ArchiveRefused, match="overlap"):
        look(overlapping_zip(50))


def test_an_archive_in_itself_is_not_looked_into():
    inner = zipped({"a.md": "x"})
    for _ in range(20):
        inner = zipped({"quine.zip": inner}, zipfile.ZIP_STORED)
    assert look(inner) == ({}, {"quine.zip": "nested_archive"})


def test_what_the_command_zip_makes_is_read():
    found, left_out = look((REAL / "info-zip.zip").read_bytes())
    assert found["docs/über/uns.md"].startswith("# Über uns".encode())
    assert (set(found), left_out) == ({"docs/README.md", "docs/über/uns.md"}, {"docs/link.md": "link"})


def test_what_the_command_zip_encrypts_is_refused():
    with pytest.raises(ArchiveEncrypted, match=r"docs/README.md"):
        look((REAL / "encrypted.zip").read_bytes())


def test_an_encrypted_member_refuses_the_archive():
    packed = bytearray(zipped({"open.md": "x", "closed.md": "y"}))
    packed[packed.rindex(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(ArchiveEncrypted, match=r"closed.md"):
        look(bytes(packed))


def test_a_compression_that_is_not_read_leaves_out_its_member():
    packed = zipped({"a.md": "text " * 100}, zipfile.ZIP_LZMA)
    assert look(packed) == ({}, {"a.md": "unknown_compression"})


@pytest.mark.parametrize(
    "content", [b"", b"no archive", b"PK\x03\x04", b"\x1f\x8b", b"BZh9", b"\xfd7zXZ\x00", b"x" * 5_000]
)
def test_what_is_no_archive_is_broken(content):
    with pytest.raises(ArchiveBroken):
        look(content)


@pytest.mark.parametrize("mode", TARS.values())
def test_a_tar_that_is_cut_off_is_broken(mode):
    noise = random.Random(1).randbytes(60_000)
    packed = tarred({"a.md": noise, "b.md": noise}, mode)
    with pytest.raises(ArchiveBroken):
        look(packed[: len(packed) * 2 // 3])


def test_headers_that_would_fill_the_memory_are_refused():
    packed = tarred({"a" * 300_000 + ".md": "x"})
    with pytest.raises(ArchiveRefused, match="headers"):
        look(packed)


def test_a_tar_with_holes_is_left_out(tmp_path):
    with (tmp_path / "holes.md").open("wb") as file:
        file.truncate(2_000_000_000)
        file.seek(1_000)
        file.write(b"text")
    subprocess.run([TAR, "-cSf", "made.tar", "holes.md"], cwd=tmp_path, check=True)
    assert look((tmp_path / "made.tar").read_bytes()) == ({}, {"holes.md": "sparse_file"})


def test_an_xz_that_asks_for_gigabytes_is_refused():
    packed = bytearray(tarred(FILES, "w:xz"))
    header = slice(12, 12 + 4 * (packed[12] + 1))  # of the first block; its filter is LZMA2 (0x21)
    assert packed[14:16] == b"\x21\x01"
    packed[16] = 40  # the dictionary: 4 GiB
    packed[header.stop - 4 : header.stop] = zlib.crc32(packed[12 : header.stop - 4]).to_bytes(4, "little")
    with pytest.raises(ArchiveBroken, match=r"(?i)memory"):
        look(bytes(packed))


@given(st.binary(max_size=2_000), st.integers(0, 3_000), st.sampled_from([*TARS.values(), "zip"]))
def test_damage_is_always_a_refusal(damage, place, mode):
    packed = bytearray(zipped(FILES) if mode == "zip" else tarred(FILES, mode))
    packed[place % len(packed) : place % len(packed) + len(damage)] = damage
    try:
        look(bytes(packed))
    except ArchiveRefused as error:
        assert str(error)


@pytest.mark.parametrize(
    ("name", "archive", "unpacked", "stem"),
    [
        ("docs.zip", True, True, "docs"),
        ("Docs.TAR.GZ", True, True, "Docs"),
        ("a/b.tgz", True, True, "a/b"),
        ("docs.7z", True, False, "docs.7z"),
        ("docs.tar.zst", True, False, "docs.tar.zst"),
        ("docs.docx", False, False, "docs.docx"),
        (".zip", True, True, ".zip"),
        ("a/.zip", True, True, "a/.zip"),
        ("zip", False, False, "zip"),
    ],
)
def test_names_say_what_is_an_archive(name, archive, unpacked, stem):
    assert (is_archive(name), is_unpacked(name), without_suffix(name)) == (archive, unpacked, stem)
