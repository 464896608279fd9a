"""The fitted centers in other clothes: scikit-learn's own KMeans, which every other tool knows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from sklearn.utils.validation import check_is_fitted


def as_sklearn(estimator: Any) -> Any:
    """A fitted KMeans with the estimator's centers; its init are those centers, so a new fit starts there.

    Where the metric is the cosine it predicts the same, since centers of unit length are as near as they point the
    same way; its distances are Euclidean ones.
    """
    from sklearn.cluster import KMeans  # here, since it takes a while to import

    check_is_fitted(estimator)
    centers = np.array(estimator.cluster_centers_, order="C")
    model = KMeans(n_clusters=len(centers), init=centers, n_init=1)
    model.cluster_centers_ = centers.copy()
    model._n_threads = _openmp_effective_n_threads(estimator.n_threads)
    model._n_features_out = len(centers)
    for name in ("labels_", "inertia_", "n_iter_", "n_features_in_", "feature_names_in_"):
        if hasattr(estimator, name):
            setattr(model, name, getattr(estimator, name))
    return model
