"""The algorithms: endless generators that ask an oracle and yield one Iterate for each outer step."""

from .backward_euler import backward_euler, backward_euler_in_runs, take_steps
from .breathing import OPERATIONS, BreathPlan, breathe, plan_by_effort
from .em import em, minibatch_em, polish
from .entropy_sgd import entropy_sgd
from .iterate import Begin, Iterate, Memory, Solver
from .local_search import moves_pay, search, usual_exchange
from .priced_em import priced_em
from .recombination import differ_in_places, recombine
from .running_means import relocate, running_means
from .sized_search import sized_search

__all__ = [
    "OPERATIONS",
    "Begin",
    "BreathPlan",
    "Iterate",
    "Memory",
    "Solver",
    "backward_euler",
    "backward_euler_in_runs",
    "breathe",
    "differ_in_places",
    "em",
    "entropy_sgd",
    "minibatch_em",
    "moves_pay",
    "plan_by_effort",
    "polish",
    "priced_em",
    "recombine",
    "relocate",
    "running_means",
    "search",
    "sized_search",
    "take_steps",
    "usual_exchange",
]
