from .choices import read_choices as read_choices
from .conll import read_conll as read_conll
from .squad import read_squad as read_squad
