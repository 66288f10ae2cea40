"""Who may take part in a gang, and what those can do who may not: nothing, before and after.

Before, any connection was a member's, and ``[`` sixty thousand times ended the gang.
"""

import contextlib
import json
import socket
import threading

import pytest
from gangs import await_end, await_line, free_port, start_gang

from hybridnet.base.errors import MXNetError
from hybridnet.distributed.coordination import connect
from hybridnet.distributed.membership import Membership
from hybridnet.distributed.secret import Secret, TalkError, read_line, secret_of
from hybridnet.kvstore.run_token import RunToken

#: Computes, waits until a file is there, and computes again.
GANG = """
    import os, time
    import hybridnet as hn
    from hybridnet import distributed as dist

    dist.initialize()
    assert float(dist.all_reduce(hn.nd.ones((1,)))) == 2.0
    print("up", flush=True)
    while not os.path.exists(os.environ["GO_ON"]):
        time.sleep(0.01)
    assert float(dist.all_reduce(hn.nd.ones((2,)).sum())) == 4.0
    print("done", flush=True)
"""
JOINS = """
    from hybridnet import distributed as dist
    dist.initialize(timeout=60)
"""
NESTED = b"[" * 60_000
HELLO = json.dumps({"nonce": "0", "proof": "0", "rank": 0, "size": 2}).encode()
NOISE = (
    NESTED,
    NESTED + b"\n",
    b'{"nonce": ' + NESTED + b"\n",
    b"{" * 900 + b"\n",
    HELLO + b"\n",
    HELLO.replace(b'"0"', b'"\\ud800"') + b"\n",
    b"7\nnull\n\n",
    b"\xff" * 64 + b"\n",
    b"9" * 5000 + b"\n",
)


@pytest.mark.slow
def test_noise_at_the_port_disturbs_no_gang(tmp_path):
    port = free_port()
    go_on = tmp_path / "go on"
    gang = start_gang(GANG, 2, DMLC_PS_ROOT_PORT=str(port), GO_ON=str(go_on))
    try:
        for one in gang:
            await_line(one, "up")
        with contextlib.ExitStack() as held:
            for _ in range(70):  # more than there are places for who has shown nothing
                held.enter_context(socket.create_connection(("127.0.0.1", port)))
            for noise in NOISE:
                with (
                    socket.create_connection(("127.0.0.1", port), 20) as stranger,
                    contextlib.suppress(OSError),  # it was parted from
                ):
                    stranger.sendall(noise)
                    stranger.shutdown(socket.SHUT_WR)
                    while stranger.recv(4096):  # until it is parted from
                        pass
            go_on.touch()
            ended = await_end(gang)
    finally:
        go_on.touch()
        for one in gang:
            one.kill()
    assert [one.status for one in ended] == [0, 0], ended


@pytest.mark.slow
@pytest.mark.parametrize("other", ["another", "none"])
def test_who_has_another_token_is_refused(other):
    tokens = [RunToken.new().text, RunToken.new().text if other == "another" else ""]
    port = str(free_port())
    gangs = [
        start_gang(JOINS, 2, DMLC_PS_ROOT_PORT=port, HYBRIDNET_DIST_TOKEN=token) for token in tokens
    ]
    first, wrong = gangs[0][0], gangs[1][1]
    for one in (gangs[0][1], gangs[1][0]):
        one.kill()
        one.communicate()
    try:
        out, err = wrong.communicate(timeout=60)
        assert "its token is another than rank 0's" in err, out + err
    finally:
        for one in (first, wrong):
            one.kill()
            one.communicate()


def test_who_answers_in_rank_0s_place_must_have_the_token():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        member = Membership(f"127.0.0.1:{listener.getsockname()[1]}", 2, 1)

        def answer():
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as lines:
                connection.sendall(b'{"nonce": "5"}\n')
                lines.readline()
                connection.sendall(b'{"proof": "5"}\n')
                lines.readline()

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(MXNetError, match="does not have this gang's token"):
            connect(member, 20.0, "127.0.0.1")
        thread.join()


def test_a_gang_of_several_machines_needs_a_token(monkeypatch, tmp_path):
    for name in ("HYBRIDNET_DIST_TOKEN", "HYBRIDNET_DIST_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(MXNetError, match=r"rank 0 at node01\) requires a secret.*srun or mpirun"):
        secret_of("node01")
    assert secret_of("127.0.0.1").text == secret_of("localhost").text
    token = RunToken.new()
    monkeypatch.setenv("HYBRIDNET_DIST_TOKEN", token.text)
    assert secret_of("node01").text == secret_of("127.0.0.1").text == token.text
    monkeypatch.setenv("HYBRIDNET_DIST_TOKEN", "short")
    with pytest.raises(MXNetError, match="must hold 64 hexadecimal digits"):
        secret_of("node01")


def test_nobody_can_answer_with_what_the_other_said():
    one, other = Secret(RunToken.new()), Secret(RunToken.new())
    proof = one.proof("rank", "1", "2")
    assert one.holds(proof, "rank", "1", "2")
    for given in (("relay", "1", "2"), ("rank", "2", "1"), ("rank", "1", "3")):
        assert not one.holds(proof, *given)
    assert not other.holds(proof, "rank", "1", "2")
    assert not one.holds(None, "rank", "1", "2")


@pytest.mark.parametrize("line", [NESTED, b"[]", b"", b"\xff", b'{"a": ' + b"[" * 9, b"{} {}"])
def test_lines_that_are_no_messages(line):
    with pytest.raises(TalkError):
        read_line(line)
