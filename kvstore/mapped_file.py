"""Files that are mapped into memory: what is written into one survives the process, not the host.

They are plain files in a folder of memory (/dev/shm) or on a disk. Python's own shared memory is
not used: before 3.13 whoever attaches to a piece of it also removes it at its end.
"""

from __future__ import annotations

import errno
import mmap
import os
import stat
from pathlib import Path
from typing import final

from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.own_folder import check_folder
from hybridnet.kvstore.system import take_room


@final
class MappedFile:
    """A file of fixed size in memory.

    Attributes:
        path: where it is; None for memory without a file.
        size: bytes.
        memory: the content; arrays may be made of it, and keep it.
    """

    def __init__(self, path: Path | None, memory: mmap.mmap, size: int) -> None:
        self.path = path
        self.memory = memory
        self.size = size

    @classmethod
    def create(cls, path: Path | None, size: int) -> MappedFile:
        """Makes a file of zeros that only the user may read; None: memory without one.

        All of it is taken at once: a full file system says so here, and kills nobody later.

        Raises:
            KVStoreError: there is not enough room, or the folder is not this user's alone.
            FileExistsError: it exists.
        """
        if path is None:
            return cls(None, mmap.mmap(-1, size), size)
        check_folder(path.parent)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            take_room(handle, size)
            return cls(path, mmap.mmap(handle, size), size)
        except OSError as error:
            path.unlink()
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EFBIG):
                raise
            raise KVStoreError(_no_room(path, size)) from error
        finally:
            os.close(handle)

    @classmethod
    def open(cls, path: Path, *, write: bool = True, least: int = 1) -> MappedFile:
        """Maps a file of this user's that exists.

        Args:
            path: which; links are not followed.
            write: whether it is to be written.
            least: how many bytes it must have.

        Raises:
            OSError: it cannot be opened.
            KVStoreError: it is no file, somebody else's, or shorter, or its folder is not this
                user's alone.
        """
        check_folder(path.parent)
        handle = os.open(path, (os.O_RDWR if write else os.O_RDONLY) | os.O_NOFOLLOW)
        try:
            found = os.fstat(handle)
            size = found.st_size
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or size < least:
                raise KVStoreError(
                    f"a mapped file must be this user's and have {least} bytes at least, got "
                    f"{path} of user {found.st_uid} with {size} bytes"
                )
            access = mmap.ACCESS_WRITE if write else mmap.ACCESS_READ
            return cls(path, mmap.mmap(handle, size, access=access), size)
        finally:
            os.close(handle)

    def remove(self) -> None:
        """Removes the file; who has it mapped keeps the content."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def _no_room(path: Path, size: int) -> str:
    room = os.statvfs(path.parent)
    left, whole = (count * room.f_frsize / 1e6 for count in (room.f_bavail, room.f_blocks))
    return (
        f"the values of a server require {size / 1e6:.1f} MB more in {path.parent}, which has "
        f"{left:.1f} MB left of {whole:.1f} MB (a model takes 2 x (1 + the optimizer's states) of "
        "its size there). Give it more (docker run --shm-size=8g), name another folder with "
        "HYBRIDNET_DIST_STATE_DIR, or set HYBRIDNET_DIST_STATE=none, with which the values are "
        "lost when the server is killed"
    )
