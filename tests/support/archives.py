"""Valid and hostile archives, built in memory."""

import io
import random
import stat
import tarfile
import zipfile
from collections.abc import Mapping, Sequence

#: Modes of `tarfile` by file name.
TARS = {"docs.tar": "w", "docs.tar.gz": "w:gz", "docs.tar.bz2": "w:bz2", "docs.tar.xz": "w:xz"}


def zip_of(files: Mapping[str, bytes | str], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip of these members."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def zip_of_raw_names(names: Sequence[bytes], extra: bytes = b"") -> bytes:
    """Return a zip of members whose names are in a charset that nothing states."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in names:
            info = _RawNameInfo(name.decode("cp437"))
            info.extra = extra
            archive.writestr(info, "x")
    return packed.getvalue()


class _RawNameInfo(zipfile.ZipInfo):
    """A member whose name is written as it is, without the flag of UTF-8."""

    def _encodeFilenameFlags(self) -> tuple[bytes, int]:
        return self.filename.encode("cp437"), self.flag_bits


def tar_of(files: Mapping[str, bytes | str], mode: str = "w", *others: tarfile.TarInfo) -> bytes:
    """Return a tar of these members, and of others without content."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as archive:
        for name, content in files.items():
            body = content if isinstance(content, bytes) else content.encode()
            info = tarfile.TarInfo(name)
            info.size = len(body)
            archive.addfile(info, io.BytesIO(body))
        for info in others:
            archive.addfile(info)
    return packed.getvalue()


def special(name: str, kind: bytes, target: str = "/etc/passwd") -> tarfile.TarInfo:
    """Return a member that is not a regular file: a link, a device, a pipe."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def zip_with_modes(files: Mapping[str, int]) -> bytes:
    """Return a zip of members with these file modes, as Unix tools write them."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, mode in files.items():
            info = zipfile.ZipInfo(name)
            info.create_system, info.external_attr = 3, mode << 16
            archive.writestr(info, "/etc/passwd")
    return packed.getvalue()


LINK = stat.S_IFLNK | 0o777
DEVICE = stat.S_IFCHR | 0o600


def overlapping_zip(n_members: int) -> bytes:
    """Return a zip whose members are all the same bytes (Fifield 2019, in its simplest form)."""
    packed = zip_of({"a.md": random.Random(1).randbytes(10_000)})
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        start = archive.start_dir
    record = packed[start : packed.index(b"PK\x05\x06")]
    records = b"".join(record.replace(b"a.md", f"{n:04d}".encode()) for n in range(n_members))
    end = bytearray(packed[packed.index(b"PK\x05\x06") :])
    end[8:10] = end[10:12] = n_members.to_bytes(2, "little")
    end[12:16] = len(records).to_bytes(4, "little")
    return packed[:start] + records + bytes(end)
