"""Who a process is in its gang, from arguments and environments."""

from __future__ import annotations

import pytest

from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.distributed.membership import Membership, find_membership

OURS = {
    "HYBRIDNET_DIST_COORDINATOR": "a:1",
    "HYBRIDNET_DIST_SIZE": "4",
    "HYBRIDNET_DIST_RANK": "3",
}
DMLC = {
    "DMLC_ROLE": "worker",
    "DMLC_PS_ROOT_URI": "10.0.0.1",
    "DMLC_PS_ROOT_PORT": "9000",
    "DMLC_NUM_WORKER": "2",
    "DMLC_NUM_SERVER": "0",
}
SLURM = {"SLURM_NTASKS": "8", "SLURM_PROCID": "5", "SLURM_JOB_ID": "4097"}


@pytest.mark.parametrize(
    ("environ", "found"),
    [
        ({}, None),
        (OURS, Membership("a:1", 4, 3)),
        ({**DMLC, **OURS}, Membership("a:1", 4, 3)),
        ({**DMLC, "DMLC_WORKER_ID": "1"}, Membership("10.0.0.1:9000", 2, 1)),
        ({**DMLC, "DMLC_TASK_ID": "0"}, Membership("10.0.0.1:9000", 2, 0)),
        (
            {**SLURM, "SLURM_JOB_NODELIST": "node[07-09,12]-x,other"},
            Membership("node07-x:61441", 8, 5),
        ),
        ({**SLURM, "SLURM_STEP_NODELIST": "alone"}, Membership("alone:61441", 8, 5)),
        (
            {
                "OMPI_COMM_WORLD_SIZE": "2",
                "OMPI_COMM_WORLD_RANK": "1",
                "HYBRIDNET_DIST_COORDINATOR": "b:2",
            },
            Membership("b:2", 2, 1),
        ),
        ({"DMLC_NUM_WORKER": "1"}, None),
    ],
)
def test_the_environment_says_who_a_process_is(environ, found):
    assert find_membership(environ=environ) == found


def test_what_is_given_comes_first():
    assert find_membership("c:3", 2, 1, OURS) == Membership("c:3", 2, 1)
    member = find_membership(rank=0, environ=OURS)
    assert member == Membership("a:1", 4, 0)
    assert (member.host, member.port) == ("a", 1)


@pytest.mark.parametrize(
    ("given", "environ", "message"),
    [
        ((None, 2, 0), {}, "needs address=.*HYBRIDNET_DIST_COORDINATOR"),
        (("a:1", 2, None), {}, "needs rank="),
        (("a:1", 2, 2), {}, "rank must be an integer from 0 to size - 1, got rank 2"),
        (("a", 2, 1), {}, "'host:port', got 'a'"),
        ((None, None, None), {**OURS, "HYBRIDNET_DIST_RANK": "x"}, "HYBRIDNET_DIST_RANK must be"),
    ],
)
def test_what_is_wrong_is_named(given, environ, message):
    with pytest.raises(ParameterError, match=message):
        find_membership(*given, environ=environ)


@pytest.mark.parametrize("change", [{"DMLC_NUM_SERVER": "2"}, {"DMLC_ROLE": "scheduler"}])
def test_processes_of_a_parameter_server_make_no_gang(change):
    with pytest.raises(MXNetError, match="parameter server.*hybridnet launch -n 2 -s 0"):
        find_membership(environ={**DMLC, "DMLC_WORKER_ID": "1", **change})
