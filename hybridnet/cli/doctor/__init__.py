"""``hybridnet doctor``: what of a project of MXNet's will run here, by reading it.

- `project`, `sources`: the files, and the trees of those in Python;
- `scopes`, `uses`: what its names stand for, and which it uses of the packages that it imports;
- `names`, `other_names`, `packages`, `requirements`, `texts`, `models`: what is to be said of them;
- `differences`: what of it differences.md tells;
- `attempt`: the imports, run in a process of their own where that is asked for;
- `findings`, `report`: what was found, as text and as JSON.

Nothing of the project is imported or run, but for `attempt`.
"""
