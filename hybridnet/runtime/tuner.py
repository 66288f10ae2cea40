"""The parts that a tuner needs: programs that run, other recipes for them, where these are kept."""

from .programs.cache import cache as cache
from .programs.overpaid import overpaid_folder as overpaid_folder
from .programs.program_store import program_folder as program_folder
from .programs.recipe_book import Entry as Entry
from .programs.recipe_book import Trial as Trial
from .programs.recipe_book import book as book
from .programs.recipe_book import tuned_folder as tuned_folder
from .tuning import CapturedLaunch as CapturedLaunch
from .tuning import Search as Search
from .tuning import captured as captured
