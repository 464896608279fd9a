"""The algorithms: each a generator over an oracle, endless, that yields one Iterate for each outer step."""

from .backward_euler import backward_euler
from .base import Begin, Iterate, Memory, Solver
from .em import em
from .entropy_sgd import entropy_sgd
from .minibatch_em import minibatch_em
from .polish import polish
from .relocation import breathe
from .running_means import running_means

__all__ = [
    "Begin",
    "Iterate",
    "Memory",
    "Solver",
    "backward_euler",
    "breathe",
    "em",
    "entropy_sgd",
    "minibatch_em",
    "polish",
    "running_means",
]
