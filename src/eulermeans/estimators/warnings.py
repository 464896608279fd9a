"""The warnings of this package. Errors are the classes that scikit-learn's users expect."""

from sklearn.exceptions import ConvergenceWarning


class DivergenceWarning(ConvergenceWarning):
    """The implicit steps were too large for the data: centers were thrown out of it."""
