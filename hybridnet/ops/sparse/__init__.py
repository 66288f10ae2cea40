"""What sparse arrays are computed with: operators on the dense arrays that they are made of."""

from . import elements as elements
from . import products as products
from . import storage as storage
