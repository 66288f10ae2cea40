"""`error` and `log`: classes by name, and loggers that write one line a message."""

from __future__ import annotations

import logging

import pytest

import hybridnet as mx
from hybridnet.base.errors import ParameterError
from hybridnet.base.unsupported import NotSupportedError


def test_classes_of_errors_are_found_by_name():
    assert mx.error.error_types["ValueError"] is ValueError
    assert mx.error.error_types["InternalError"] is mx.error.InternalError
    assert mx.error.error_types["IOError"] is IOError
    assert str(mx.error.InternalError(msg="a bug")) == "a bug"

    @mx.error.register
    class Unlucky(mx.MXNetError):
        pass

    @mx.error.register("Mine")
    class Other(ValueError):
        pass

    try:
        assert mx.error.error_types["Unlucky"] is Unlucky
        assert mx.error.error_types["Mine"] is Other
        assert mx.error.register_error("Third", Other) is Other
    finally:
        for name in ("Unlucky", "Mine", "Third"):
            mx.error.error_types.pop(name, None)
    with pytest.raises(ParameterError, match="needs a class of errors, got 3"):
        mx.error.register_error("x", 3)


def test_a_logger_writes_one_line_to_a_file_or_in_colour(tmp_path, capsys):
    file = tmp_path / "log"
    logger = mx.log.get_logger("tests.of.log.file", str(file), level=mx.log.INFO)
    assert mx.log.get_logger("tests.of.log.file", level=mx.log.DEBUG) is logger
    assert logger.level == mx.log.INFO and len(logger.handlers) == 1
    logger.info("written")
    logger.handlers[0].close()
    assert file.read_text() == "written\n"
    shown = mx.log.get_logger("tests.of.log.shown", level=mx.log.DEBUG)
    shown.warning("seen")
    shown.log(17, "odd")
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("\x1b[31mW") and first.endswith("]\x1b[0m seen")
    assert "test_error_and_log.py:test_a_logger" in first and second.startswith("\x1b[34mU")
    assert mx.log.get_logger() is logging.getLogger()
    with pytest.warns(DeprecationWarning, match="get_logger"):
        mx.log.getLogger("tests.of.log.shown")


def test_what_mxnet_has_and_hybridnet_not_says_what_to_use():
    with pytest.raises(NotSupportedError, match="rtc of MXNet .* mx.operator.CustomOp"):
        _ = mx.rtc
    with pytest.raises(NotSupportedError, match="notebook .* use callbacks"):
        _ = mx.notebook
    with pytest.raises(AttributeError, match="hybridnet has no attribute 'modul'.*module"):
        _ = mx.modul
