"""Archive members are listed and read, left out with a reason, or refused."""

import gzip
import io
import random
import shutil
import struct
import subprocess
import tarfile
import zipfile
import zlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.archives.listing import (
    SelectedMember,
    is_archive,
    is_supported_archive,
    list_members,
    strip_archive_suffix,
)
from ingest.archives.open_archive import open_archive
from ingest.archives.types import (
    ArchiveBroken,
    ArchiveEncrypted,
    ArchiveLimits,
    ArchiveOverLimit,
    ArchiveRefused,
    MemberBroken,
)
from ingest.connectors import ignore
from tests.support.archives import (
    DEVICE,
    LINK,
    TARS,
    overlapping_zip,
    special,
    tar_of,
    zip_of,
    zip_of_raw_names,
    zip_with_modes,
)
from tests.support.samples import content_of

TAR = shutil.which("tar") or "tar"
LIMITS = ArchiveLimits(max_members=1_000, max_unpacked_bytes=100_000_000)
MEMBERS = {
    "README.md": b"# Read me\n",
    "guide/install.md": b"# Install\n",
    "guide/short.md": b"x",
    "odd.md": b"x" * 511,
}


def look(content, limits=LIMITS):
    """Return the members to read (content by path) and those left out (reason by path)."""
    file = io.BytesIO(content)
    with open_archive(file, limits) as archive:
        entries = list(list_members(archive, limits))
    wanted = {entry.index: entry.path for entry in entries if isinstance(entry, SelectedMember)}
    with open_archive(file, limits) as archive:
        found = {wanted[each.index]: archive.read(each) for each in archive.members() if each.index in wanted}
    return found, {
        entry.path: str(entry.reason) for entry in entries if not isinstance(entry, SelectedMember)
    }


def test_archives_are_read_member_by_member(subtests):
    packed = {mode: tar_of(MEMBERS, mode) for mode in TARS.values()}
    halves = gzip.compress(packed["w"][:700]) + gzip.compress(packed["w"][700:]) + bytes(100)
    for name, content in {**packed, "zip": zip_of(MEMBERS), "two gzip streams": halves}.items():
        with subtests.test(case=name):
            assert look(content) == (MEMBERS, {})


def test_archives_of_real_commands_are_read(tmp_path, subtests):
    (tmp_path / "docs" / "deep").mkdir(parents=True)
    (tmp_path / "docs" / "a.md").write_text("# A\n")
    (tmp_path / "docs" / "deep" / ("n" * 120 + "ü.md")).write_text("# Long\n")
    (tmp_path / "docs" / "link.md").symlink_to("a.md")
    for option in ("-z", "-j", "-J", "-v"):
        with subtests.test(case=f"tar {option}"):
            subprocess.run(
                [TAR, "-c", option, "-f", "made", "-C", "docs", "."],
                cwd=tmp_path,
                check=True,
                capture_output=True,
            )
            found, left_out = look((tmp_path / "made").read_bytes())
            assert found == {"a.md": b"# A\n", "deep/" + "n" * 120 + "ü.md": b"# Long\n"}
            assert left_out == {"link.md": "link"}
    with subtests.test(case="Info-ZIP"):
        found, left_out = look(content_of("archives/info-zip.zip"))
        assert found["docs/über/uns.md"].startswith("# Über uns".encode())
        assert (set(found), left_out) == ({"docs/README.md", "docs/über/uns.md"}, {"docs/link.md": "link"})
    with (
        subtests.test(case="encrypted by Info-ZIP"),
        pytest.raises(ArchiveEncrypted, match=r"docs/README.md"),
    ):
        look(content_of("archives/encrypted.zip"))


def test_size_limits_of_files_hold_in_archives(settings):
    settings.KEBAB_CODE_LIMIT_BYTES, settings.KEBAB_DOCUMENT_LIMIT_BYTES = 10, 20
    found, left_out = look(zip_of({"a.py": "x = 1", "b.py": "x" * 11, "c.md": "x" * 15, "d.md": "x" * 21}))
    assert (set(found), left_out) == ({"a.py", "c.md"}, {"b.py": "too_large", "d.md": "too_large"})


def test_oversized_ignore_files_are_refused(monkeypatch):
    endless = "\n".join(f"name{n}" for n in range(40_000))
    for packed in (zip_of({"docs/.gitignore": endless}), tar_of({"docs/.gitignore": endless})):
        with pytest.raises(ArchiveOverLimit, match=r"docs/.gitignore.*262,144"):
            look(packed)
    monkeypatch.setattr(ignore, "MAX_WALK_BYTES", 100)
    with pytest.raises(ArchiveOverLimit, match="100"):
        look(zip_of({f"{n}/.gitignore": f"a{n}\n" * 20 for n in range(3)}))


def test_ignore_files_apply_wherever_they_stand_in_the_archive():
    files = {
        "a.log": "x",
        "docs/b.md": "# B\n",
        "docs/c.tmp": "x",
        ".gitignore": "*.log\n",
        "docs/.kebabignore": "*.tmp",
    }
    for packed in (zip_of(files), tar_of(files, "w:gz")):
        found, left_out = look(packed)
        assert set(found) == {".gitignore", "docs/.kebabignore", "docs/b.md"}
        assert left_out == {"a.log": "ignored", "docs/c.tmp": "ignored"}


def test_members_follow_the_rules_of_folders():
    expected = {
        "node_modules/": "skipped_directory",
        "package-lock.json": "lock_file",
        "app.min.js": "minified",
        ".git/": "skipped_directory",
        "__MACOSX/": "skipped_directory",
        "large.py": "too_large",
    }
    below = {"node_modules/": "x/index.js", ".git/": "config", "__MACOSX/": "._a.md"}
    files = {path + below.get(path, ""): "#" * (600_000 if path == "large.py" else 1) for path in expected}
    found, left_out = look(zip_of({**files, "a.md": "# A\n"}))
    assert (set(found), left_out) == ({"a.md"}, expected)


def test_member_with_an_unusable_path_is_left_out(subtests):
    for name, reason in [
        ("../outside.md", "path_outside"),
        ("a/../../outside.md", "path_outside"),
        ("/etc/outside.md", "absolute_path"),
        ("C:/outside.md", "absolute_path"),
        ("c:outside.md", "absolute_path"),
        ("..\\outside.md", "backslash_in_path"),
        ("a\nb.md", "control_character_in_name"),
        ("long/" * 300 + "a.md", "path_too_long"),
        ("inner.zip", "nested_archive"),
        ("inner.tar.gz", "nested_archive"),
        ("inner.7z", "nested_archive"),
    ]:
        for pack in (zip_of, tar_of):
            with subtests.test(case=name[:20], pack=pack.__name__):
                found, left_out = look(pack({name: "x", "a.md": "# A\n"}))
                assert (set(found), list(left_out.values())) == ({"a.md"}, [reason])
    packed = zip_of({"aXb.md": "x"}).replace(b"aXb.md", b"a\0b.md")
    assert look(packed) == ({}, {"a\\x00b.md": "control_character_in_name"})


def test_links_and_devices_are_left_out():
    others = [
        special("sym.md", tarfile.SYMTYPE),
        special("hard.md", tarfile.LNKTYPE, "a.md"),
        special("pipe", tarfile.FIFOTYPE),
        special("disk", tarfile.BLKTYPE),
    ]
    expected = {"sym.md": "link", "hard.md": "link", "pipe": "special_file", "disk": "special_file"}
    assert look(tar_of({"a.md": "# A\n"}, "w:gz", *others)) == ({"a.md": b"# A\n"}, expected)
    packed = zip_with_modes({"sym.md": LINK, "disk": DEVICE})
    assert look(packed) == ({}, {"sym.md": "link", "disk": "special_file"})


@pytest.mark.parametrize(
    ("charset", "names"),
    [
        ("utf-8", ["für.md"]),
        ("cp437", ["Größe der Häfen.md", "Änderung.md"]),
        ("cp850", ["São João.md", "maçãs/manhã.md"]),
        ("cp866", ["Договор аренды.md", "Приложение 1.md", "док.md"]),
        ("cp932", ["写真/灯台の記録.md", "能力表.md", "ソース.md"]),
        ("gbk", ["模板.md", "文件夹/说明.md"]),
        ("cp1252", ["Übersicht.md", "Größe.md"]),
    ],
)
def test_names_without_a_declared_charset_are_decoded_together(charset, names):
    assert set(look(zip_of_raw_names([name.encode(charset) for name in names]))[0]) == set(names)


def test_names_in_extra_fields_count_if_they_are_of_the_name_beside_them():
    raw = "Größe.md".encode("cp437")
    for checksum, name in ((zlib.crc32(raw), "Größe—2.md"), (1, "Größe.md")):
        unicode_path = struct.pack("<BL", 1, checksum) + "Größe—2.md".encode()
        extra = struct.pack("<HHL", 1, 4, 0) + struct.pack("<HH", 0x7075, len(unicode_path)) + unicode_path
        assert set(look(zip_of_raw_names([raw], extra=extra))[0]) == {name}


def test_later_of_two_members_with_one_path_counts():
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for text in (b"old", b"new"):
            info = tarfile.TarInfo("a.md")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))
    assert look(packed.getvalue()) == ({"a.md": b"new"}, {"a.md": "duplicate_path"})


def test_limits_refuse_the_archive_and_name_the_setting(subtests):
    members = {f"{n}.md": "x" for n in range(11)}
    folders = {f"{n}/" + "d/" * 40 + "a.md": "x" for n in range(3)}
    text = {"a.md": "text " * 8_000, "b.md": "other " * 8_000}
    bomb = {"zeros.md": bytes(21_000_000)}
    few = ArchiveLimits(max_members=10, max_unpacked_bytes=1_000_000)
    few_folders = ArchiveLimits(max_members=50, max_unpacked_bytes=1_000_000)
    small = ArchiveLimits(max_members=10, max_unpacked_bytes=50_000)
    for name, files, limits, modes, message in [
        ("members", members, few, ("w:gz",), r"\b10\b.*KEBAB_ARCHIVE_MEMBER_LIMIT"),
        ("folders", folders, few_folders, (), r"\b50\b"),
        ("bytes", text, small, ("w", "w:xz"), r"50,000.*KEBAB_ARCHIVE_UNPACKED_LIMIT_BYTES"),
        ("ratio", bomb, LIMITS, ("w:gz", "w:xz"), r"\b200\b"),
    ]:
        for packed in (zip_of(files), *(tar_of(files, mode) for mode in modes)):
            with subtests.test(case=name), pytest.raises(ArchiveOverLimit, match=message):
                look(packed, limits)


@pytest.mark.parametrize("pack", [zip_of, tar_of])
def test_reading_of_members_that_are_passed_over_is_cancelled(pack):
    """Cancel while a member of gigabytes is skipped."""

    class Cancelled(Exception):
        pass

    def cancel():
        if is_cancelled:
            raise Cancelled

    is_cancelled = False
    packed = pack({"a.md": b"a", "b.bin": bytes(3_000_000), "c.md": b"c"})
    with open_archive(io.BytesIO(packed), replace(LIMITS, while_reading=cancel)) as archive:
        members = archive.members()
        assert [next(members).name for _ in range(2)] == ["a.md", "b.bin"]
        is_cancelled = True
        with pytest.raises(Cancelled):
            next(members)


def test_directory_of_too_many_records_is_refused_before_it_is_parsed(monkeypatch):
    packed = zip_of({f"{n}.md": "" for n in range(2_000)})
    monkeypatch.setattr(zipfile, "ZipInfo", None)  # it would be constructed for each record
    with pytest.raises(ArchiveOverLimit, match="1,000"), open_archive(io.BytesIO(packed), LIMITS):
        pass


def test_member_larger_than_it_announces_is_broken():
    packed = bytearray(zip_of({"a.md": b"0" * 1_000_000}))
    size = packed.index(b"PK\x01\x02") + 24
    packed[size : size + 4] = (10).to_bytes(4, "little")
    with pytest.raises(MemberBroken):
        look(bytes(packed))


def test_overlapping_members_and_endless_headers_are_refused():
    for packed in (overlapping_zip(50), tar_of({"a" * 300_000 + ".md": "x"})):
        with pytest.raises(ArchiveRefused):
            look(packed)


def test_one_encrypted_member_refuses_the_archive():
    packed = bytearray(zip_of({"open.md": "x", "closed.md": "y"}))
    packed[packed.rindex(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(ArchiveEncrypted, match=r"closed.md"):
        look(bytes(packed))


def test_member_of_an_unknown_compression_is_left_out():
    packed = zip_of({"a.md": "text " * 100}, zipfile.ZIP_LZMA)
    assert look(packed) == ({}, {"a.md": "unknown_compression"})


def test_damaged_archive_is_broken(subtests):
    noise = random.Random(1).randbytes(60_000)
    cut = [tar_of({"a.md": noise, "b.md": noise}, mode) for mode in TARS.values()]
    for content in (
        *(b"", b"no archive", b"PK\x03\x04", b"\x1f\x8b", b"BZh9", b"\xfd7zXZ\x00", b"x" * 5_000),
        *(packed[: len(packed) * 2 // 3] for packed in cut),
    ):
        with subtests.test(case=content[:8], size=len(content)), pytest.raises(ArchiveBroken):
            look(content)


def test_sparse_member_of_a_tar_is_left_out(tmp_path):
    with (tmp_path / "holes.md").open("wb") as file:
        file.truncate(2_000_000_000)
        file.seek(1_000)
        file.write(b"text")
    subprocess.run([TAR, "-cSf", "made.tar", "holes.md"], cwd=tmp_path, check=True)
    assert look((tmp_path / "made.tar").read_bytes()) == ({}, {"holes.md": "sparse_file"})


def test_xz_with_a_dictionary_of_gigabytes_is_refused():
    packed = bytearray(tar_of(MEMBERS, "w:xz"))
    header = slice(12, 12 + 4 * (packed[12] + 1))  # of the first block; its filter is LZMA2 (0x21)
    assert packed[14:16] == b"\x21\x01"
    packed[16] = 40  # the dictionary: 4 GiB
    packed[header.stop - 4 : header.stop] = zlib.crc32(packed[12 : header.stop - 4]).to_bytes(4, "little")
    with pytest.raises(ArchiveBroken, match=r"(?i)memory"):
        look(bytes(packed))


@given(st.binary(max_size=2_000), st.integers(0, 3_000), st.sampled_from([*TARS.values(), "zip"]))
def test_damaged_archive_is_read_or_refused_with_a_reason(damage, place, mode):
    packed = bytearray(zip_of(MEMBERS) if mode == "zip" else tar_of(MEMBERS, mode))
    packed[place % len(packed) : place % len(packed) + len(damage)] = damage
    try:
        look(bytes(packed))
    except ArchiveRefused as error:
        assert str(error)


def test_archives_are_recognised_by_their_suffix(subtests):
    for name, archive, unpacked, stem in [
        ("docs.zip", True, True, "docs"),
        ("Docs.TAR.GZ", True, True, "Docs"),
        ("a/b.tgz", True, True, "a/b"),
        ("docs.7z", True, False, "docs.7z"),
        ("docs.tar.zst", True, False, "docs.tar.zst"),
        ("docs.docx", False, False, "docs.docx"),
        (".zip", True, True, ".zip"),
        ("a/.zip", True, True, "a/.zip"),
        ("zip", False, False, "zip"),
    ]:
        with subtests.test(case=name):
            assert (is_archive(name), is_supported_archive(name), strip_archive_suffix(name)) == (
                archive,
                unpacked,
                stem,
            )
