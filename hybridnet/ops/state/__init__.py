"""Things a program keeps: the variables of graphs, and the parts of a Storage that views show."""

from . import variables as variables
from . import views as views
from .variables import ASSIGN as ASSIGN
from .variables import NO_OP as NO_OP
from .variables import READ as READ
from .views import block_lengths as block_lengths
