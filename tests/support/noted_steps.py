"""The steps that sessions make."""

from hybridnet.session import runner


def noted_steps(monkeypatch):
    """Returns a list to which each step is added that a session makes; for sessions made later."""
    steps, make_step = [], runner.make_step

    def noted(request):
        steps.append(make_step(request))
        return steps[-1]

    monkeypatch.setattr(runner, "make_step", noted)
    return steps
