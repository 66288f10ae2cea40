"""Processes that make batches: how they are started, fed, watched and ended.

MXNet forks the training process. That cannot be done here: XLA's threads do not live on in a forked
child, and locks that they held stay locked. Nor is a fresh interpreter started for each worker in
`multiprocessing`'s way: it imports the user's script, which trains once more where nothing guards
against that, and takes a second. So there is one more process, the nursery:

- It is started (by exec) for the first loader that wants workers, while the main process goes on.
  It imports hybridnet, has one thread and no JAX, and forks a worker whenever it is asked to, in
  milliseconds. That is safe whatever runs in the main process. Modules that the dataset is found
  in are imported once for all workers, in a nursery of their own, which the first one forks; should
  one of them start a thread, that nursery becomes a fresh one, and each worker imports them.
- A worker gets the dataset and ``batchify_fn`` pickled, once; lambdas and what is defined in the
  script, a notebook or a function come by their code (`sending`), so the script is not imported.
  The memory of arrays is shared by all workers of a loader, and copied where one writes to it.
- Each worker has a socket of its own to the main process (`channel`), which is all they share: no
  lock, queue or semaphore that a killed worker could leave locked. When a worker ends, its socket
  says so at once; when the main process ends, however that is, theirs do, and the nursery, which
  sees it too, kills what is still busy.
- Batches come through memory without a name (`shared_memory`), which the system frees by itself.
- Operators run on NumPy arrays in a worker (HYBRIDNET_HOST=only, one thread), so that JAX is not
  even imported unless a transform needs it.
- Before each batch a worker's random generators (Python's, NumPy's, hybridnet's) are seeded with a
  number that comes from those of the main process and the number of the batch. So what is drawn
  depends on the seeds that the user sets, and not on how many workers there are or who is faster.
"""

from .pool import ProcessWorkers, WorkerError, are_possible

__all__ = ["ProcessWorkers", "WorkerError", "are_possible"]
