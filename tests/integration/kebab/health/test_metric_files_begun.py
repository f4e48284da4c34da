"""Files in which a process counts, looked at while it makes them."""

from kebab.metrics import files


def test_a_process_that_gets_its_name_this_moment_keeps_its_numbers(tmp_path, monkeypatch):
    # All processes of a node start together, and each removes what the dead have left.
    unnamed = tmp_path / "worker-7-abcd.new"
    unnamed.touch()
    (tmp_path / "worker-7-abcd.values").touch()
    look = files._is_held

    def is_held(path):
        if path == unnamed:
            path.rename(path.with_suffix(".keys"))
        return look(path)

    monkeypatch.setattr(files, "_is_held", is_held)
    files.remove_dead(tmp_path)

    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".keys", ".values"]
