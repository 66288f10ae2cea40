"""Beam searches are those of transformers: recorded ones, and live where it can be imported."""

import json

import pytest
from helpers import thorough
from oracle import beam_cases as cases
from oracle import folder_cases
from places import ORACLE
from text_models import FOLDERS

from hybridnet.gluon.model_zoo import text

RECORDED = json.loads((ORACLE / "beams.json").read_text())
# Of many numbers of prompts and beams.
pytestmark = pytest.mark.filterwarnings("ignore::hybridnet.RetracingWarning")


def answers(net, search):
    return text.generate(
        net,
        search.prompts,
        search.count,
        beams=search.width,
        length_penalty=search.penalty,
        eos=search.eos,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", thorough(cases.NETWORKS, ("gpt2", "mistral")))
def test_recorded_answers(name):
    net = text.load(FOLDERS / name)
    searches = cases.searches(0, len(RECORDED[name]))
    assert [answers(net, one) for one in searches] == RECORDED[name]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["gpt2", "llama"])
@pytest.mark.parametrize("seed", [1, 2])
def test_new_networks_beside_transformers(name, seed, tmp_path):
    torch = pytest.importorskip("torch", reason="compares with PyTorch, which is not here")
    transformers = pytest.importorskip("transformers", reason="compares with transformers")
    transformers.logging.disable_progress_bar()
    model_class, config_class, options = folder_cases.CASES[name]
    model = getattr(transformers, model_class)(getattr(transformers, config_class)(**options))
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.4 * torch.randn(parameter.shape) + (parameter.ndim == 1))
    model.eval().save_pretrained(tmp_path)
    net = text.load(tmp_path)
    for search in cases.searches(seed, 12):
        assert answers(net, search) == cases.answers(torch, model, search), search
