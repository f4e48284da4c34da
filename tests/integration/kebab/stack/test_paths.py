import os
import shutil
from pathlib import Path

import pytest

from kebab.stack.errors import PathRefused
from kebab.stack.paths import DataDirectory, ensure_runtime_directory, runtime_directory
from kebab.stack.servers.addresses import database_url, postgres_socket_folder, redis_socket

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to someone else")


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o7777


def test_new_data_directory_is_closed_to_others_whatever_the_umask(data_dir):
    data_dir.write_text("")
    with pytest.raises(PathRefused, match=str(data_dir)):
        DataDirectory(data_dir).ensure()
    data_dir.unlink()
    before = os.umask(0o077)
    try:
        DataDirectory(data_dir).ensure()
    finally:
        os.umask(before)
    assert mode_of(data_dir) == (0o711 if os.geteuid() == 0 else 0o700)
    assert {mode_of(folder) for folder in data_dir.iterdir()} == {0o700}


def test_existing_folders_keep_their_modes(data_dir):
    data_dir.mkdir()
    data_dir.chmod(0o750)
    (data_dir / "blobs").mkdir()
    (data_dir / "blobs").chmod(0o755)
    before = mode_of(data_dir.parent)
    DataDirectory(data_dir).ensure()
    assert mode_of(data_dir) == 0o750
    assert mode_of(data_dir / "blobs") == 0o755
    assert mode_of(data_dir.parent) == before


def test_runtime_directory_is_private_and_not_shared_with_a_copy(data_dir, tmp_path):
    DataDirectory(data_dir).ensure()
    made = ensure_runtime_directory(data_dir, str(tmp_path))
    assert mode_of(made) & 0o066 == 0
    assert runtime_directory(data_dir) == made
    copy = data_dir.with_name("copy")
    shutil.copytree(data_dir, copy)
    assert runtime_directory(copy) != made
    made.chmod(0o777)  # it became hostile
    assert runtime_directory(data_dir) != made


def test_unsafe_runtime_directory_is_refused_and_left_unchanged(data_dir, tmp_path):
    DataDirectory(data_dir).ensure()
    hostile = runtime_directory(data_dir, str(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    hostile.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PathRefused, match="KEBAB_RUNTIME_DIR"):
        ensure_runtime_directory(data_dir, str(tmp_path))
    hostile.unlink()
    hostile.mkdir()
    hostile.chmod(0o777)
    with pytest.raises(PathRefused, match="0777"):
        ensure_runtime_directory(data_dir, str(tmp_path))
    assert mode_of(hostile) == 0o777


@needs_root
def test_runtime_directory_of_someone_else_is_refused(data_dir, tmp_path):
    DataDirectory(data_dir).ensure()
    hostile = runtime_directory(data_dir, str(tmp_path))
    hostile.mkdir(mode=0o700)
    os.chown(hostile, 65534, 65534)
    with pytest.raises(PathRefused, match="belongs to user 65534"):
        ensure_runtime_directory(data_dir, str(tmp_path))


def test_socket_path_over_107_bytes_or_with_a_comma_is_refused(data_dir):
    for address in (redis_socket, postgres_socket_folder, database_url):
        with pytest.raises(PathRefused, match=r"107.*KEBAB_RUNTIME_DIR"):
            address(data_dir, f"/run/{100 * 'x'}")
    assert redis_socket(data_dir, f"/run/{70 * 'x'}")
    with pytest.raises(PathRefused):
        redis_socket(data_dir, f"/run/{70 * 'é'}")
    with pytest.raises(PathRefused):
        database_url(data_dir, "/run/a,b")
