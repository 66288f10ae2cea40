"""The steps that a session's runner runs."""


def noted_steps(runner):
    """Returns a list to which a runner's steps are added, from now on, as it runs them."""
    steps, step_of = [], runner.step

    def noted(request):
        steps.append(step_of(request))
        return steps[-1]

    runner.step = noted
    return steps
