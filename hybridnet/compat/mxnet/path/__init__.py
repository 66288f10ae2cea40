"""The folder by which processes that ``hybridnet run`` starts find hybridnet as `mxnet`."""
