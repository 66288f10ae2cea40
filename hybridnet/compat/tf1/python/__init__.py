"""``tensorflow.python``: modules of TensorFlow's own that scripts import all the same.

They hold nothing of their own: a name is that of ``tf``, or of ``tf.nn``.
"""
