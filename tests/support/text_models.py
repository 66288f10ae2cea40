"""What tests of networks in Hugging Face's folders share."""

import json
import shutil
from pathlib import Path

import numpy as np
from oracle import folder_cases as cases
from places import ORACLE

from hybridnet import nd

FOLDERS = ORACLE / "folders"


def whole(array):
    """Returns whole numbers as an array of int32."""
    return nd.array(array, dtype="int32")


def copied(name, target: Path) -> Path:
    """Copies a recorded folder, to be changed."""
    return Path(shutil.copytree(FOLDERS / name, target / name))


def change_config(folder: Path, **changes) -> None:
    """Changes settings in a folder's config.json; None takes one away."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config.update(changes)
    path.write_text(json.dumps({name: v for name, v in config.items() if v is not None}))


def greedy(net, prompt, count):
    """Returns a prompt with the likeliest next tokens, one position at a time over a cache."""
    cache = net.new_cache(prompt.shape[0], prompt.shape[1] + count)
    tokens, new = np.array(prompt), np.array(prompt)
    for _ in range(count):
        scores = net(whole(new), cache)
        cache.starts[:] = cache.starts + new.shape[1]
        new = scores[:, -1].asnumpy().argmax(axis=1).astype(np.int32)[:, None]
        tokens = np.concatenate([tokens, new], axis=1)
    return tokens


def asked(net, name):
    """Returns what a network gives for the inputs of a case, in order, as recorded ones have it."""
    if name in cases.VITS:
        found = net(nd.array(cases.pictures()))
    elif name in cases.BERTS:
        tokens, types = whole(cases.tokens()), whole(cases.token_types())
        found = net(tokens, types, whole(cases.LENGTHS))
    else:
        found = net(whole(cases.tokens()))
    return [one.asnumpy() for one in (found if isinstance(found, (tuple, list)) else [found])]


def assert_same(name, found, wanted):
    """Compares within 1e-4; what stands after the end of a padded sequence means nothing."""
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.shape == theirs.shape
        if name in cases.BERTS and theirs.ndim == 3:
            there = np.arange(theirs.shape[1]) < cases.LENGTHS[:, None]
            ours, theirs = ours[there], theirs[there]
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-4)
