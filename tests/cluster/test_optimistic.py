"""What came for a part of a step is given again; anything else is an error, and no endless wait."""

import pytest

from hybridnet.base.errors import OpError
from hybridnet.clusters.optimistic import NotingRendezvous, RepeatedRendezvous
from hybridnet.runtime.executor.rendezvous import Key, LocalRendezvous

HERE = frozenset({"a", "c"})
COMES, WITHIN, GOES = Key("b", "a", "x:0"), Key("a", "c", "y:0"), Key("a", "b", "z:0")


def test_a_repeated_part_gets_what_came_and_sends_nothing_away():
    network = LocalRendezvous()
    noting = NotingRendezvous(network, HERE)
    network.send(COMES, 1)
    noting.send(WITHIN, 2)
    noting.send(GOES, 3)
    assert noting.receive(COMES).value == 1 and noting.receive(WITHIN).value == 2
    again = RepeatedRendezvous(noting.came, HERE)
    again.send(WITHIN, 20)
    again.send(GOES, 30)
    assert again.receive(COMES).value == 1 and again.receive(WITHIN).value == 20
    assert network.receive(GOES).value == 3 and network.pending == (0, 0)
    with pytest.raises(OpError, match="variables changed while the step ran"):
        again.receive(COMES._replace(iteration=1))
