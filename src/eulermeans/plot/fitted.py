"""A fitted model as pictures and reports see it: centers, and what rows go through before they meet them.

Takes an estimator, a scikit-learn pipeline that ends with one, or a sequence of a scaler and an estimator. Knows
no picture.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.exceptions import NotFittedError

from ..arrays import Array, FloatArray
from ..oracles import ArrayOracle, CsrOracle, Labeling
from ..oracles.sphere import unit_centers, unit_rows


@dataclass(frozen=True)
class Fitted:
    """The parts of a fitted model."""

    estimator: Any  # has cluster_centers_
    scalers: tuple[Any, ...]  # fitted transformers that rows go through first, in this order
    centers: FloatArray  # (n_clusters, n_features) where they are compared with rows

    @property
    def n_clusters(self) -> int:
        """How many centers there are."""
        return len(self.centers)

    @property
    def metric(self) -> str:
        """`euclidean` or `cosine`."""
        return str(getattr(self.estimator, "metric", "euclidean"))

    @property
    def names(self) -> list[str] | None:
        """What the features are called in the data that the model was fitted to, if it was told."""
        first = self.scalers[0] if self.scalers else self.estimator
        names = getattr(first, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    @property
    def n_features(self) -> int:
        """Of the data as they come, before any scaling."""
        first = self.scalers[0] if self.scalers else self.estimator
        return int(first.n_features_in_ if hasattr(first, "n_features_in_") else self.centers.shape[1])

    def enter(self, rows: Any) -> Any:
        """Rows as they are compared with centers: scaled, and of length one if the metric is cosine."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            for scaler in self.scalers:
                rows = scaler.transform(rows)
        rows = as_matrix(rows)
        return unit_rows(rows) if self.metric == "cosine" else rows

    def leave(self, points: FloatArray) -> FloatArray | None:
        """Points in the units of the data; None where a scaler can't be undone."""
        for scaler in reversed(self.scalers):
            if not hasattr(scaler, "inverse_transform"):
                return None
            points = np.asarray(scaler.inverse_transform(points))
        return points

    def label(self, points: Any, weights: FloatArray | None = None) -> Labeling:
        """The nearest center of each point, which has entered, and what that costs."""
        return _oracle(points, weights).label(self.centers)

    def distances(self, points: Any) -> Array:
        """The distance of each point, which has entered, to each center; (n_points, n_clusters)."""
        return _oracle(points).distances(self.centers)

    def counts(self) -> FloatArray | None:
        """The size of each cluster of the data that the model was fitted to, (n_clusters,); None: it kept none."""
        labels = getattr(self.estimator, "labels_", None)
        if isinstance(labels, np.ndarray):
            return np.bincount(labels, minlength=self.n_clusters).astype(np.float64)
        weights = getattr(self.estimator, "cluster_weights_", None)
        return None if weights is None else np.asarray(weights, dtype=np.float64)


def fitted(model: Any) -> Fitted:
    """The parts of a model; it must be fitted."""
    if isinstance(model, Fitted):
        return model
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else model
    parts = steps if isinstance(steps, (list, tuple)) else [steps]
    *scalers, estimator = [part for part in parts if part is not None and part != "passthrough"] or [model]
    if not hasattr(estimator, "cluster_centers_"):
        name = type(estimator).__name__
        if hasattr(estimator, "fit"):
            raise NotFittedError(f"this {name} has no cluster_centers_; call fit before drawing or reporting it.")
        raise TypeError(
            f"a {name} is no model; give a fitted estimator with cluster_centers_, such as EulerMeans, or a "
            "pipeline that ends with one."
        )
    centers = np.array(estimator.cluster_centers_, dtype=np.float64)
    if getattr(estimator, "metric", "euclidean") == "cosine":
        centers = unit_centers(centers)
    return Fitted(estimator, tuple(scalers), centers)


def _oracle(points: Any, weights: FloatArray | None = None) -> ArrayOracle | CsrOracle:
    return CsrOracle(points, weights) if issparse(points) else ArrayOracle(points, weights)


def as_matrix(rows: Any) -> Any:
    """Rows as a two-dimensional array of numbers, or in CSR format."""
    if issparse(rows):
        return csr_array(rows)
    array = np.asarray(rows)
    if array.ndim != 2:
        raise ValueError(f"the data have {array.ndim} axes; give a table of rows and features.")
    return array if array.dtype.kind in "fiub" else array.astype(np.float64)
