"""``tf.gfile``: files and folders with TensorFlow's names and errors."""

import pytest

import hybridnet.compat.tf1 as tf

gfile = tf.gfile


def test_files_are_written_and_read(tmp_path):
    path = str(tmp_path / "a.txt")
    with gfile.GFile(path, "w") as file:
        file.write("one\ntwö\n")
        assert file.size() == 9
    with gfile.Open(path, "a") as file:
        file.write("three")
    with gfile.FastGFile(path) as file:
        assert file.readline() == "one\n" and list(file) == ["twö\n", "three"]
        file.seek(0)
        assert file.read(3) == "one" and file.readlines()[-1] == "three"
    with gfile.GFile(path, "rb") as file:
        assert file.read() == "one\ntwö\nthree".encode() and file.tell() == 14
    assert gfile.Stat(path).length == 14 and not gfile.Stat(path).is_directory


def test_folders(tmp_path):
    inner = tmp_path / "x" / "y"
    gfile.MakeDirs(str(inner))
    gfile.MakeDirs(str(inner))
    for name in "ba":
        gfile.GFile(str(inner / name), "w").close()
    assert gfile.IsDirectory(str(inner)) and sorted(gfile.ListDirectory(str(inner))) == ["a", "b"]
    assert gfile.Glob(str(inner / "*")) == [str(inner / "a"), str(inner / "b")]
    assert [(one, sorted(files)) for one, _, files in gfile.Walk(str(tmp_path / "x"))] == [
        (str(tmp_path / "x"), []),
        (str(inner), ["a", "b"]),
    ]
    gfile.Copy(str(inner / "a"), str(inner / "c"))
    gfile.Rename(str(inner / "c"), str(inner / "b"), overwrite=True)
    gfile.Remove(str(inner / "a"))
    assert gfile.ListDirectory(str(inner)) == ["b"]
    gfile.DeleteRecursively(str(tmp_path / "x"))
    assert not gfile.Exists(str(tmp_path / "x"))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda p: gfile.GFile(f"{p}/none"), tf.errors.NotFoundError),
        (lambda p: gfile.Remove(f"{p}/none"), tf.errors.NotFoundError),
        (lambda p: gfile.Stat(f"{p}/none"), tf.errors.NotFoundError),
        (lambda p: gfile.ListDirectory(f"{p}/none"), tf.errors.NotFoundError),
        (lambda p: gfile.DeleteRecursively(f"{p}/none"), tf.errors.NotFoundError),
        (lambda p: gfile.MkDir(f"{p}/none/more"), tf.errors.NotFoundError),
        (lambda p: gfile.MkDir(str(p)), tf.errors.AlreadyExistsError),
        (lambda p: gfile.Copy(__file__, str(p)), tf.errors.AlreadyExistsError),
        (lambda p: gfile.GFile(str(p)), tf.errors.FailedPreconditionError),
    ],
)
def test_what_is_wrong_is_said_in_tensorflows_words(tmp_path, call, error):
    with pytest.raises(error):
        call(tmp_path)
