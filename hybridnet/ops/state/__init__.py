"""Things a program keeps: the variables of graphs, and the parts of a Storage that views show."""

from . import variables as variables
from . import views as views
