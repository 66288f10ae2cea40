"""Handwritten digits: ``from hybridnet.compat.tf1.examples.tutorials.mnist import input_data``."""

from . import input_data as input_data
