"""Files that are written completely or not at all.

A new file is written next to the old one, flushed to disk, and takes its place in one step. Does not know what is
in the files.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_LONGEST_SUFFIX = 32  # bytes of a suffix that a temporary file keeps; a file name has at most 255 bytes


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file with the suffix of `path`, which replaces `path` if the block succeeds.

    A reader sees the old file or the complete new one, never a part of it, also after a power failure. Symbolic
    links are followed. The new file has the mode of the old one, and its owner and group where that is allowed.
    What is not a regular file, such as a pipe or /dev/null, is not replaced: the content is written into it.
    """
    target, resolved = Path(path), Path(os.path.realpath(path))
    for folder in (target.parent, resolved.parent):
        if not folder.is_dir():
            raise FileNotFoundError(f"can't write {target}: there is no folder {folder}")
    if target.is_dir():
        raise IsADirectoryError(f"can't write {target}: it is a folder")
    if not _is_replaceable(target, resolved):
        with _copied_into(target) as temporary:
            yield temporary
        return
    _remove_leftovers(resolved)
    partial, lock = _create(resolved)
    try:
        yield partial
        _finish(partial, resolved)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    finally:
        os.close(lock)


def _is_replaceable(target: Path, resolved: Path) -> bool:
    """Whether the target is a regular file that `resolved` names too, or there is none yet.

    It is not if the target stands for an open file that has lost its name, as /dev/stdout may. Other processes may
    replace the file between two looks at it: if the target has changed, all is looked at again.
    """
    while True:
        with _held(target) as seen:
            if seen is None:
                return True
            if not stat.S_ISREG(seen.st_mode):
                return False
            if _same(seen, _status(resolved)):
                return True
            if _same(seen, _status(target)):
                return False


@contextmanager
def _held(path: Path) -> Iterator[os.stat_result | None]:
    """What is there, if anything. Within the block no other file gets its number, where the system can do that.

    An error if links lead nowhere, because they form a circle.
    """
    if sys.platform != "linux":
        yield _status(path)
        return
    with ExitStack() as stack:
        status = None
        with suppress(FileNotFoundError):
            descriptor = os.open(path, os.O_PATH)
            stack.callback(os.close, descriptor)
            status = os.fstat(descriptor)
        yield status


def _status(path: Path) -> os.stat_result | None:
    """What is there, if anything."""
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _same(one: os.stat_result, other: os.stat_result | None) -> bool:
    return other is not None and os.path.samestat(one, other)


@contextmanager
def _copied_into(target: Path) -> Iterator[Path]:
    """A temporary file elsewhere, whose content is written into `target` if the block succeeds."""
    with tempfile.TemporaryDirectory(prefix="eulermeans-") as folder:
        temporary = Path(folder, f"content{_suffix(target)}")
        temporary.touch()
        yield temporary
        with temporary.open("rb") as content, target.open("wb") as stream:
            shutil.copyfileobj(content, stream)


def _suffix(target: Path) -> str:
    """The suffix of a file, by which libraries choose a format; none if it is too long to be one."""
    return target.suffix if len(os.fsencode(target.suffix)) <= _LONGEST_SUFFIX else ""


def _prefix(target: Path) -> str:
    """How the names of temporary files for this target begin. Of the same length for every target."""
    return f".eulermeans-{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]}-"


def _create(target: Path) -> tuple[Path, int]:
    """A new temporary file, and a descriptor that keeps it locked until it is closed or the process ends.

    It is private as long as it replaces an existing file, whose mode it gets at the end.
    """
    mode = 0o600 if target.exists() else 0o666  # the system subtracts the umask
    while True:
        partial = target.with_name(f"{_prefix(target)}{secrets.token_hex(8)}{_suffix(target)}")
        lock = os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode)
        if sys.platform != "win32":
            fcntl.flock(lock, fcntl.LOCK_EX)
        if partial.exists():
            return partial, lock
        os.close(lock)  # another process took it for a leftover before it was locked


def _remove_leftovers(target: Path) -> None:
    """Remove temporary files for this target whose writers were killed: nobody has locked them."""
    if sys.platform == "win32":
        return
    prefix, leftovers = _prefix(target), []
    with suppress(PermissionError), os.scandir(target.parent) as entries:  # some folders can't be listed
        leftovers = [entry.path for entry in entries if entry.name.startswith(prefix)]
    for leftover in leftovers:
        with suppress(OSError):  # locked by its writer, removed by another process, or not ours to remove
            descriptor = os.open(leftover, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(leftover)
            finally:
                os.close(descriptor)


def _finish(partial: Path, target: Path) -> None:
    """Put the temporary file in the place of the target, such that a power failure loses neither."""
    with partial.open("rb+") as file:
        os.fsync(file.fileno())
    with suppress(FileNotFoundError):
        _take_permissions(partial, target.stat())
    os.replace(partial, target)
    if sys.platform != "win32":
        _sync_folder(target.parent)


def _take_permissions(partial: Path, old: os.stat_result) -> None:
    """Give the file the owner, group and mode of another one, as far as that is allowed."""
    mode = stat.S_IMODE(old.st_mode) & 0o777
    if sys.platform != "win32":
        with suppress(PermissionError):
            os.chown(partial, -1, old.st_gid)
        with suppress(PermissionError):
            os.chown(partial, old.st_uid, -1)
        if partial.stat().st_gid != old.st_gid:  # what one group was allowed is not for another
            mode &= ~0o070
    partial.chmod(mode)


def _sync_folder(folder: Path) -> None:
    """Write the names in a folder to disk, where the system allows it."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # it can't be listed
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some file systems have no such operation
            raise
    finally:
        os.close(descriptor)
