"""Lower bounds on the optimal inertia: how far from the optimum a clustering can be at most."""

from .certificate_record import BoundStep, Certificate
from .certification import certify

__all__ = ["BoundStep", "Certificate", "certify"]
