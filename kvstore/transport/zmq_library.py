"""pyzmq, an extra, loaded at its first use."""

from __future__ import annotations

from typing import Any


def load_zmq() -> Any:
    """Returns the module `zmq`, with its `utils.z85`.

    Raises:
        ImportError: it is missing; says what to install.
    """
    try:
        import zmq
        import zmq.utils.z85
    except ImportError as error:
        raise ImportError(
            "a store over several processes (kv.create('dist_sync') and its like) requires pyzmq: "
            "pip install 'hybridnet[dist]'"
        ) from error
    return zmq
