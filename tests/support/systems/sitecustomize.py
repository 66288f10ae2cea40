"""Makes a Python on Linux look like one on macOS or Windows, as far as names go.

With this folder on PYTHONPATH and HYBRIDNET_TEST_SYSTEM=darwin or win32, the interpreter, and each
that it starts, lacks what Python lacks there: functions, constants, modules and places of Linux's.
What others have to do for themselves is done before: the standard library, NumPy and JAX are
imported as on Linux. That shows which names hybridnet asks for, and nothing of how the systems
behave beyond what is written here.
"""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import errno
import importlib
import io
import os
import re
import selectors
import signal
import socket
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

#: What decides by the system as it is imported, or asks for what is to be taken away.
_BEFORE = """
    asyncio bz2 cgi concurrent.futures.process concurrent.futures.thread configparser
    ctypes.util curses dbm email.message fileinput getpass glob gzip http.client http.server
    locale logging.handlers lzma mimetypes multiprocessing.context multiprocessing.managers
    multiprocessing.pool multiprocessing.popen_spawn_posix multiprocessing.resource_tracker
    multiprocessing.shared_memory multiprocessing.synchronize netrc numbers pdb pickletools
    platform queue random readline sched secrets selectors shelve shutil socketserver sqlite3
    ssl subprocess sysconfig tarfile tempfile timeit trace tracemalloc urllib.request uuid
    webbrowser xml.etree.ElementTree zipapp zipfile zipimport numpy numpy.testing scipy.linalg
    scipy.special scipy.stats threadpoolctl cloudpickle malt jax jax.numpy jax.extend.core
    jax.interpreters.mlir jax.export jax.experimental.multihost_utils
    jax.experimental.mesh_utils jax.experimental.shard_map jax.scipy jax.distributed
    jaxlib.xla_client zmq safetensors.numpy
"""
#: Of the extras, which take seconds: only where HYBRIDNET_TEST_EXTRAS is set.
_EXTRAS = """
    cv2 onnx google.protobuf tokenizers jinja2 fsspec matplotlib.pyplot networkx graphviz
    rich.console s3fs
"""

#: Of Linux's alone, each a pattern of whole names.
_LINUX = {
    "os": r"memfd_create|MFD_\w+|pidfd_open|PIDFD_\w+|eventfd\w*|EFD_\w+|sched_\w+|SCHED_\w+|"
    r"posix_fallocate|posix_fadvise|POSIX_FADV_\w+|fdatasync|\w+xattr|XATTR_\w+|O_(PATH|"
    r"TMPFILE|DIRECT|NOATIME|LARGEFILE|RSYNC)|splice|SPLICE_\w+|copy_file_range|getrandom|"
    r"GRND_\w+|unshare|setns|CLONE_\w+|timerfd_\w+|TFD_\w+|getresuid|getresgid|setresuid|"
    r"setresgid|RTLD_DEEPBIND|waitid|P_PIDFD",
    "signal": r"SIGRT\w+|SIGSTKFLT|SIGPWR|SIGPOLL|SIGCLD|sigwaitinfo|sigtimedwait|"
    r"pidfd_send_signal",
    "select": r"epoll|EPOLL\w*|POLLRDHUP",
    "socket": r"SO_PEERCRED|SO_PASSCRED|SO_PEERSEC|SO_DOMAIN|SO_PROTOCOL|SO_MARK|"
    r"SO_BINDTODEVICE|SO_PASSSEC|SO_PRIORITY|SOCK_CLOEXEC|SOCK_NONBLOCK|MSG_NOSIGNAL|"
    r"MSG_CMSG_CLOEXEC|MSG_ERRQUEUE|MSG_MORE|AF_(NETLINK|PACKET|TIPC|CAN|ALG|VSOCK|QIPCRTR|"
    r"RDS|BLUETOOTH)|SCM_CREDENTIALS|TCP_(CORK|DEFER_ACCEPT|INFO|KEEPIDLE|LINGER2|QUICKACK|"
    r"SYNCNT|USER_TIMEOUT|WINDOW_CLAMP)",
    "mmap": r"MAP_(POPULATE|STACK|DENYWRITE|EXECUTABLE|NORESERVE)|MADV_(DONTDUMP|DODUMP|"
    r"HUGEPAGE|NOHUGEPAGE|MERGEABLE|UNMERGEABLE|REMOVE|DONTFORK|DOFORK|HWPOISON)",
    "time": r"CLOCK_(BOOTTIME|TAI)|pthread_getcpuclockid",
    "resource": r"prlimit|RUSAGE_THREAD|RLIMIT_(OFILE|MSGQUEUE|NICE|RTPRIO|RTTIME|SIGPENDING)",
}
#: Of POSIX's, beside these.
_POSIX = {
    "os": r"fork\w*|register_at_fork|posix_\w+|POSIX_\w+|openpty|login_tty|ptsname|grantpt|"
    r"unlockpt|confstr\w*|sysconf\w*|f?pathconf\w*|get[eu]*[ug]id|set[eurs]*[ug]id|"
    r"[gs]etgroups|initgroups|getgrouplist|getpg\w+|setpg\w+|[gs]etsid|killpg|nice|"
    r"getpriority|setpriority|PRIO_\w+|getloadavg|uname|mkfifo|mknod|l?chown|fchown|fchmod|"
    r"fchdir|chroot|pread\w*|pwrite\w*|readv|writev|RWF_\w+|sendfile|wait|wait3|wait4|"
    r"W(NOHANG|CONTINUED|UNTRACED|EXITED|STOPPED|NOWAIT)|WIF\w+|WCOREDUMP|WEXITSTATUS|"
    r"WSTOPSIG|WTERMSIG|P_(ALL|PGID|PID)|f?statvfs|ST_\w+|O_(DIRECTORY|NOFOLLOW|CLOEXEC|"
    r"NONBLOCK|SYNC|DSYNC|NOCTTY|ASYNC|NDELAY|ACCMODE)|[gs]et_blocking|ttyname|tc[gs]etpgrp|"
    r"ctermid|lockf|F_\w+|sync|RTLD_\w+|minor|major|makedev|EX_\w+|environb|getenvb|"
    r"NGROUPS_MAX|TMP_MAX",
    "signal": r"SIG(HUP|KILL|USR1|USR2|CHLD|CONT|STOP|TSTP|TTIN|TTOU|PIPE|ALRM|QUIT|BUS|IO|"
    r"IOT|PROF|SYS|TRAP|URG|VTALRM|WINCH|XCPU|XFSZ)|pthread_\w+|[gs]etitimer|ITIMER_\w+|"
    r"sigwait|sigpending|siginterrupt|alarm|pause|SIG_(BLOCK|UNBLOCK|SETMASK)|Sigmasks",
    "select": r"poll|POLL\w+|PIPE_BUF",
    "socket": r"AF_UNIX|send_fds|recv_fds|SO_REUSEPORT|SO_USELOOPBACK|MSG_(DONTWAIT|EOR|"
    r"NOSIGNAL)|SCM_\w+|CMSG_\w+|sethostname",
    "mmap": r"MAP_\w+|PROT_\w+|MADV_\w+",
    "time": r"clock_\w+|CLOCK_\w+|tzset",
}
_POSIX_MODULES = (
    "fcntl",
    "resource",
    "pwd",
    "grp",
    "spwd",
    "termios",
    "tty",
    "pty",
    "syslog",
    "crypt",
)
#: Folders that no other system has.
_PLACES = re.compile(r"/(proc|sys|dev/shm)(/|$)")
_EPROTONOSUPPORT = errno.EPROTONOSUPPORT


def become(system: str) -> None:
    """Takes away what a system has not.

    Args:
        system: 'darwin' or 'win32'.
    """
    names = _BEFORE + (_EXTRAS if os.environ.get("HYBRIDNET_TEST_EXTRAS") else "")
    for name in names.split():
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    tables = [_LINUX, _POSIX] if system == "win32" else [_LINUX]
    for table in tables:
        for name, pattern in table.items():
            _remove(sys.modules.get(name), re.compile(pattern))
    if system == "win32":
        for name in _POSIX_MODULES:
            sys.modules[name] = None  # type: ignore[assignment]
        _like_windows()
    else:
        _like_macos()
    _settle_others()
    _hide_places()
    sys.platform = system


def _remove(module: Any, pattern: re.Pattern[str]) -> None:
    for name in [*vars(module)] if module is not None else ():
        if pattern.fullmatch(name):
            delattr(module, name)


def _settle_others() -> None:
    """What has ways of its own on each system keeps that of Linux."""
    shutil, tempfile, threadpoolctl = (
        sys.modules[name] for name in ("shutil", "tempfile", "threadpoolctl")
    )
    tempfile._O_TMPFILE_WORKS = False
    threadpoolctl.open = open
    shutil._winapi = SimpleNamespace(NeedCurrentDirectoryForExePath=lambda _: True)


def _hide_places() -> None:
    """Nothing is found in /proc, /sys and /dev/shm."""
    for module, names in (
        (os, "open stat lstat listdir scandir readlink mkdir access unlink rmdir rename replace"),
        (io, "open"),
        (builtins, "open"),
    ):
        for name in names.split():
            setattr(module, name, _where_it_is(getattr(module, name)))


def _where_it_is(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(path: Any = ".", *rest: Any, **more: Any) -> Any:
        if isinstance(path, (str, os.PathLike)) and _PLACES.match(os.fspath(path)):
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", os.fspath(path))
        return function(path, *rest, **more)

    for known in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
        if function in known:
            known.add(call)
    return call


class _NoPackets(socket.socket):
    """macOS has the constant for packets of local sockets, and no such sockets."""

    def __init__(self, family: int = -1, type: int = -1, *rest: Any, **more: Any) -> None:
        if type == 5:
            raise OSError(_EPROTONOSUPPORT, "Protocol not supported")
        super().__init__(family, type, *rest, **more)


def _like_macos() -> None:
    socket.socket = _NoPackets  # type: ignore[misc]
    # Loaded before the names of epoll went, which it asks for at each registration (Python 3.11).
    selectors.DefaultSelector = selectors.PollSelector  # type: ignore[misc]


def _like_windows() -> None:
    signal.CTRL_C_EVENT, signal.CTRL_BREAK_EVENT, signal.SIGBREAK = 0, 1, 21  # type: ignore[attr-defined]
    os.O_BINARY = 0  # type: ignore[attr-defined]
    for known in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
        known.clear()
    _only_sockets_are_selected()
    selectors.DefaultSelector = selectors.SelectSelector  # type: ignore[misc]
    _open_files_stay()
    _no_c_library()
    _only_known_signals()
    for name in ("sendmsg", "recvmsg", "recvmsg_into"):
        setattr(socket.socket, name, property(_missing(name)))


def _missing(name: str) -> Callable[[Any], Any]:
    def get(_: Any) -> Any:
        raise AttributeError(name)

    return get


def _only_sockets_are_selected() -> None:
    import select

    real = select.select

    def look(*waits: Any) -> Any:
        for one in (one for some in waits[:3] for one in some):
            number = one if isinstance(one, int) else one.fileno()
            if not _target(number).startswith("socket:"):
                raise OSError(errno.ENOTSOCK, "An operation was attempted on what is not a socket")
        return real(*waits)

    select.select = look


_readlink, _listdir, _real_open = os.readlink, os.listdir, open


def _target(number: int) -> str:
    try:
        return _readlink(f"/proc/self/fd/{number}")
    except OSError:
        return ""


def _open_files_stay() -> None:
    """Files that are open or mapped are neither removed nor replaced; folders are not opened."""

    def checked(function: Callable[..., Any], count: int) -> Callable[..., Any]:
        def call(*paths: Any, **more: Any) -> Any:
            for path in paths[:count]:
                _refuse_if_open(path)
            return function(*paths, **more)

        return call

    for name, count in (("unlink", 1), ("remove", 1), ("rename", 2), ("replace", 2)):
        setattr(os, name, checked(getattr(os, name), count))
    os.rename = _not_over(os.rename)
    real = os.open

    def open_file(path: Any, *rest: Any, **more: Any) -> int:
        if os.path.isdir(path):
            raise PermissionError(errno.EACCES, "Permission denied", os.fspath(path))
        return real(path, *rest, **more)

    os.open = open_file


def _not_over(rename: Callable[..., Any]) -> Callable[..., Any]:
    def call(old: Any, new: Any, **more: Any) -> Any:
        if os.path.exists(new):
            raise FileExistsError(errno.EEXIST, "It exists already", os.fspath(new))
        return rename(old, new, **more)

    return call


def _refuse_if_open(path: Any) -> None:
    where = os.path.realpath(path)
    is_open = where in map(_target, map(int, _listdir("/proc/self/fd")))
    if not is_open and os.path.isfile(where):
        with _real_open("/proc/self/maps", encoding="utf-8") as maps:
            is_open = any(line.rstrip("\n").endswith(f" {where}") for line in maps)
    if is_open:
        text = "The process cannot access the file because it is being used by another process"
        raise PermissionError(errno.EACCES, text, os.fspath(path))


def _no_c_library() -> None:
    real = ctypes.CDLL.__init__

    def load(self: Any, name: Any, *rest: Any, **more: Any) -> None:
        if name is None:
            raise TypeError("bad argument type for built-in operation")
        real(self, name, *rest, **more)

    ctypes.CDLL.__init__ = load  # type: ignore[method-assign]


def _only_known_signals() -> None:
    real = signal.signal
    known = {
        signal.SIGABRT,
        signal.SIGFPE,
        signal.SIGILL,
        signal.SIGINT,
        signal.SIGSEGV,
        signal.SIGTERM,
    }

    def handle(number: int, handler: Any) -> Any:
        if number not in known:
            raise ValueError("signal number out of range")
        return real(number, handler)

    signal.signal = handle


if os.environ.get("HYBRIDNET_TEST_SYSTEM"):
    become(os.environ["HYBRIDNET_TEST_SYSTEM"])
