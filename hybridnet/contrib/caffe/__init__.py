"""`contrib.caffe`: networks of Caffe become symbols with parameters.

    symbol, arguments, states = contrib.caffe.import_caffe("deploy.prototxt", "net.caffemodel")

``hybridnet convert caffe`` does it in the shell. The package protobuf reads the files;
``pip install 'hybridnet[caffe]'`` brings it.
"""

from .network import import_caffe as import_caffe

__all__ = ["import_caffe"]
