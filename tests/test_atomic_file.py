"""Files are replaced completely or not at all, and only files are."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from eulermeans.storage import atomic_file, replacing

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes, links and pipes are POSIX's")


def put(path: Path, content: bytes = b"new") -> None:
    with replacing(path) as partial:
        partial.write_bytes(content)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def old(tmp_path) -> Path:
    path = tmp_path / "file.csv"
    path.write_bytes(b"old")
    return path


@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077])
def test_a_new_file_has_the_mode_that_the_umask_gives(tmp_path, umask):
    before = os.umask(umask)
    try:
        put(tmp_path / "file")
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "file") == 0o666 & ~umask


def test_the_umask_of_the_process_is_never_changed(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("other threads would create files with it"))
    put(tmp_path / "file")
    put(tmp_path / "file")


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o640, 0o666, 0o444])
def test_an_existing_file_keeps_its_mode(old, mode):
    old.chmod(mode)
    put(old)
    assert old.read_bytes() == b"new"
    assert mode_of(old) == mode


def test_what_replaces_a_private_file_is_private_while_it_is_written(old):
    old.chmod(0o600)
    with replacing(old) as partial:
        assert mode_of(partial) == 0o600
        partial.write_bytes(b"new")


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root may give files away")
def test_an_existing_file_keeps_its_owner_and_group(old):
    os.chown(old, 1234, 5678)
    put(old)
    assert (old.stat().st_uid, old.stat().st_gid) == (1234, 5678)


def test_the_rights_of_a_group_that_cannot_be_kept_are_not_given_to_another(old, monkeypatch):
    old.chmod(0o660)
    status = old.stat()
    other = os.stat_result([*status[:5], status.st_gid + 1, *status[6:10]])  # the file of another group

    def refuse(*arguments):
        raise PermissionError

    monkeypatch.setattr(os, "chown", refuse)
    new = old.with_name("new")
    new.touch()
    atomic_file._take_permissions(new, other)
    assert mode_of(new) == 0o600


# Links, pipes, devices


def test_links_are_followed(old, tmp_path):
    (tmp_path / "folder").mkdir()
    link, second = tmp_path / "folder" / "link.csv", tmp_path / "second.csv"
    link.symlink_to("../file.csv")
    second.symlink_to(link)
    put(second)
    assert link.is_symlink()
    assert second.is_symlink()
    assert old.read_bytes() == b"new"
    assert names_in(tmp_path / "folder") == ["link.csv"]


def test_a_link_to_a_file_that_does_not_exist_creates_it(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("file")
    put(link)
    assert link.is_symlink()
    assert (tmp_path / "file").read_bytes() == b"new"


def test_a_link_into_a_folder_that_does_not_exist(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("none/file")
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*none"):
        put(link)


def test_links_in_a_circle_are_an_error(tmp_path):
    (tmp_path / "one").symlink_to("other")
    (tmp_path / "other").symlink_to("one")
    with pytest.raises(OSError, match="symbolic links"):
        put(tmp_path / "one")
    assert names_in(tmp_path) == ["one", "other"]


def test_a_pipe_stays_a_pipe_and_gets_the_content(tmp_path):
    pipe, received = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    put(pipe, b"x" * 200_000)
    reader.join(timeout=60)
    assert received == [b"x" * 200_000]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_device_stays_a_device(tmp_path):
    """A copy of /dev/null: a test that fails must not destroy that of the system."""
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root may create devices")
    before = device.stat()
    put(device)
    after = device.stat()
    assert (after.st_ino, after.st_mode, after.st_rdev) == (before.st_ino, before.st_mode, before.st_rdev)


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="there is no /proc")
def test_the_open_file_of_a_pipe_can_be_written():
    """As /dev/stdout is, which is a link to it, if the output is piped."""
    code = (
        "from eulermeans.storage import replacing\nwith replacing('/proc/self/fd/1') as p: p.write_bytes(b'new')"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert ended.stdout == b"new"


def test_what_fails_is_not_written_into_a_device(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)  # nobody reads it: to open it would wait for ever
    with suppress(ZeroDivisionError), replacing(pipe) as partial:
        partial.write_bytes(b"half")
        raise ZeroDivisionError


# Names


@pytest.mark.parametrize("name", ["a" * 255, "ä" * 127, "a" * 251 + ".csv", "a." + "b" * 253, ".csv", "a\nb.csv"])
def test_names_of_any_length(tmp_path, name):
    put(tmp_path / name)
    put(tmp_path / name)
    assert names_in(tmp_path) == [name]


def test_a_temporary_file_has_the_suffix_by_which_libraries_choose_a_format(tmp_path):
    with replacing(tmp_path / "figure.PNG") as partial:
        assert partial.suffix == ".PNG"
        assert partial.parent == tmp_path


# Power failures and kills


def test_content_and_name_are_on_disk_before_the_block_ends(old, monkeypatch):
    """The order matters: content, then the new name, then the folder that holds the name."""
    events, replace, fsync = [], os.replace, os.fsync
    monkeypatch.setattr(os, "replace", lambda *paths: (events.append("replace"), replace(*paths)))

    def synced(descriptor):
        what = os.fstat(descriptor)
        events.append("folder" if stat.S_ISDIR(what.st_mode) else what.st_size)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", synced)
    put(old, b"content")
    assert events == [len(b"content"), "replace", "folder"]


def test_a_disk_that_fails_is_an_error_and_leaves_the_old_file(old, tmp_path, monkeypatch):
    def fail(descriptor):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="Input/output error"):
        put(old)
    assert old.read_bytes() == b"old"
    assert names_in(tmp_path) == [old.name]


KILLED = """
import os, signal, sys
from eulermeans.storage import replacing
with replacing(sys.argv[1]) as partial:
    partial.write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_next_write_removes_what_a_killed_one_left(old, tmp_path):
    for _ in range(3):
        ended = subprocess.run([sys.executable, "-c", KILLED, str(old)], check=False)
        assert ended.returncode == -signal.SIGKILL
        assert old.read_bytes() == b"old"
    assert len(names_in(tmp_path)) == 2  # of three, each has removed the one before
    put(old)
    assert names_in(tmp_path) == [old.name]
    assert old.read_bytes() == b"new"


def test_files_that_others_are_writing_are_not_removed(old, tmp_path):
    with replacing(old) as one:
        one.write_bytes(b"one")
        with replacing(old) as other, replacing(tmp_path / "file") as third:
            other.write_bytes(b"other")
            third.write_bytes(b"third")
            put(old)
            assert one.exists()
            assert other.exists()
    assert old.read_bytes() == b"one"
    assert names_in(tmp_path) == ["file", old.name]


def test_a_file_that_another_process_replaces_at_the_same_time_is_replaced_too(old, monkeypatch):
    """Two looks at a path that differ do not make the file a device, into which the content would be written."""
    looked, n_looks = os.stat, 0

    def look(path, **options):
        nonlocal n_looks
        n_looks += 1
        if path == old and n_looks < 20:
            other = old.with_name("other")
            other.write_bytes(b"other")
            other.replace(old)
        return looked(path, **options)

    monkeypatch.setattr(os, "stat", look)
    monkeypatch.setattr(atomic_file, "_copied_into", lambda target: pytest.fail("readers would see a part of it"))
    put(old)
    assert old.read_bytes() == b"new"


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="there is no /proc")
def test_an_open_file_that_has_lost_its_name_is_written_into(old, tmp_path):
    with old.open("r+b") as file:
        old.unlink()
        put(Path(f"/proc/self/fd/{file.fileno()}"))
        assert file.read() == b"new"
    assert names_in(tmp_path) == []


def test_many_processes_write_one_file(old, tmp_path):
    code = """
import sys
from eulermeans.storage import replacing
for number in range(50):
    with replacing(sys.argv[1]) as partial:
        partial.write_bytes(sys.argv[2].encode() * 100_000)
"""
    running = [subprocess.Popen([sys.executable, "-c", code, str(old), letter]) for letter in "abc"]
    while any(process.poll() is None for process in running):
        content = old.read_bytes()
        assert content == b"old" or (len(content) == 100_000 and len(set(content)) == 1)
    assert [process.returncode for process in running] == [0, 0, 0]
    assert names_in(tmp_path) == [old.name]
