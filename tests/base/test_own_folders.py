"""Folders that are this user's alone, all the way up: programs', and those of sockets and values.

Two floors ask the same of `engine.ways`; here they are asked together.
"""

import contextlib
import os

import pytest
from strangers import STRANGER, needs_strangers, open_folder

from hybridnet.base.files import NotOwnError, OwnFolder
from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.own_folder import check_folder, is_own_folder, make_folder

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="has no users")


def own_folder(path):
    with OwnFolder(path):
        pass


@pytest.fixture(params=["programs", "sockets"])
def accepts(request):
    """Says whether a folder is used, by what asks for programs or for sockets."""
    check, refuses = {
        "programs": (own_folder, NotOwnError), "sockets": (check_folder, KVStoreError)
    }[request.param]  # fmt: skip

    def ask(path):
        try:
            check(path)
        except refuses as error:
            return str(error)
        return ""

    return ask


@pytest.fixture
def above():
    with open_folder(0o755) as folder:
        yield folder


def made(path, mode=0o700):
    path.mkdir(parents=True)
    path.chmod(mode)
    return path


def test_a_folder_of_this_users_alone_is_used(above, accepts):
    assert not accepts(made(above / "one" / "two"))


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_others_may_write_in_no_folder_above_it(above, accepts, depth):
    folder = made(above / "one" / "two" / "three")
    (folder / ("../" * depth)).resolve().chmod(0o777)
    assert "another user can put something else" in accepts(folder)
    (folder / ("../" * depth)).resolve().chmod(0o775)
    assert "another user can put something else" in accepts(folder)
    (folder / ("../" * depth)).resolve().chmod(0o1777)
    assert not accepts(folder)


def test_what_others_cannot_reach_they_cannot_write_in(above, accepts):
    """As where a home of mode 0700 was filled with a umask of 002."""
    folder = made(above / "home" / "cache" / "own")
    (above / "home").chmod(0o700)
    (above / "home" / "cache").chmod(0o775)
    assert not accepts(folder)
    (above / "home").chmod(0o711)
    assert "another user" in accepts(folder)


def test_links_are_followed_above_it_and_looked_at(above, accepts):
    folder = made(above / "safe" / "own")
    made(above / "open", 0o777)
    for target in (above / "safe", "../safe", "./../open/../safe"):
        with contextlib.suppress(FileNotFoundError):
            (above / "open" / "link").unlink()
        (above / "open" / "link").symlink_to(target)
        assert "another user" in accepts(above / "open" / "link" / "own")
    (above / "link").symlink_to("safe")
    assert not accepts(above / "link" / "own")
    assert not accepts(above / "safe" / ".." / "link" / "own")
    (above / "away").symlink_to(above / "open")
    made(above / "open" / "own")
    assert "another user" in accepts(above / "away" / "own")
    assert accepts(above / "link" / ".." / "away" / "own")
    (above / "circle").symlink_to("circle")
    with contextlib.suppress(OSError):  # the system's own refusal: too many levels
        assert accepts(above / "circle" / "own")
    (folder.parent / "itself").symlink_to(folder)
    assert accepts(folder.parent / "itself")


@needs_strangers
def test_folders_of_others_are_not_used(above, accepts):
    folder = made(above / "theirs" / "own")
    os.chown(folder.parent, STRANGER, STRANGER)
    assert "another user can put something else" in accepts(folder)
    sticky = made(above / "sticky", 0o1777)
    theirs = made(sticky / "theirs")
    os.chown(theirs, STRANGER, STRANGER)
    assert accepts(theirs)
    made(theirs / "own")
    assert "another user can put something else" in accepts(theirs / "own")
    link = sticky / "link"
    link.symlink_to(made(above / "good" / "own").parent)
    assert not accepts(link / "own")
    os.chown(link, STRANGER, STRANGER, follow_symlinks=False)
    assert "another user can put something else" in accepts(link / "own")


def test_sockets_want_a_mode_of_0700(above):
    folder = made(above / "own", 0o755)
    assert not is_own_folder(folder)
    make_folder(folder)
    assert is_own_folder(folder)
    folder.chmod(0o777)
    with pytest.raises(KVStoreError, match=r"mode 0700.*mode 0777"):
        make_folder(folder)
    assert not is_own_folder(above / "none")
