"""A fitted model as plots and reports use it: its centers, and the transformers that rows pass through first."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from ..arrays import Array, FloatArray
from ..oracles import Labeling, memory_oracle, unit_centers, unit_rows

if TYPE_CHECKING:
    import pandas as pd

Matrix: TypeAlias = Array | csr_array  # rows of numbers, dense or in CSR format


@dataclass(frozen=True)
class FittedModel:
    """A fitted estimator, taken out of its pipeline."""

    estimator: BaseEstimator  # has cluster_centers_
    scalers: tuple[BaseEstimator, ...]  # the fitted transformers before it, in order
    centers: FloatArray  # (n_clusters, n_features) after the scalers; unit vectors if the metric is cosine
    is_priced: bool = True  # whether the prices of the estimator, if it has any, are those of these centers

    @property
    def n_clusters(self) -> int:
        """The number of centers."""
        return len(self.centers)

    @property
    def metric(self) -> str:
        """`euclidean` or `cosine`."""
        return str(getattr(self.estimator, "metric", "euclidean"))

    @property
    def feature_names(self) -> list[str] | None:
        """The column names of the training data; None if it had none."""
        first = self.scalers[0] if self.scalers else self.estimator
        names = getattr(first, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    @property
    def n_features(self) -> int:
        """The number of features before the scalers."""
        first = self.scalers[0] if self.scalers else self.estimator
        return int(first.n_features_in_ if hasattr(first, "n_features_in_") else self.centers.shape[1])

    def transform(self, rows: Matrix | pd.DataFrame) -> Matrix:
        """Rows as they are compared with the centers: scaled, and of unit length if the metric is cosine."""
        for scaler in self.scalers:
            rows = self._transform_by(scaler, rows)
        points = as_matrix(rows)
        return unit_rows(points) if self.metric == "cosine" else points

    @staticmethod
    def _transform_by(scaler: BaseEstimator, rows: Matrix | pd.DataFrame) -> Matrix | pd.DataFrame:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return scaler.transform(rows)

    def inverse_transform(self, points: FloatArray) -> FloatArray | None:
        """Points in the units of the data; None if a scaler cannot be undone."""
        for scaler in reversed(self.scalers):
            if _is_imputer(scaler):
                continue  # filled values stay
            if not hasattr(scaler, "inverse_transform"):
                return None
            points = np.asarray(scaler.inverse_transform(points))
        return points

    def fill_missing(self, rows: Array) -> Array:  # (n, n_features), IN
        """Rows with their NaN filled by the pipeline's first imputer; by the column's mean if there is none."""
        for scaler in self.scalers:
            if _is_imputer(scaler):
                filled = np.asarray(self._transform_by(scaler, rows))
                if filled.shape == rows.shape:
                    return filled
        missing = np.isnan(rows)
        n_present = np.maximum((~missing).sum(axis=0), 1)
        return np.where(missing, np.where(missing, 0, rows).sum(axis=0) / n_present, rows)

    def label(
        self,
        points: Matrix,  # (n_points, n_features) after `transform`, IN
        weights: FloatArray | None = None,  # (n_points,), IN
    ) -> Labeling:
        """The center of each point, the squared distance to it, and the moments.

        That is the nearest center; for clusters of bounded size, the one that their prices give.
        """
        oracle = memory_oracle(points, weights, n_threads=getattr(self.estimator, "n_threads", None))
        has_prices = self.is_priced and self.n_clusters > 1
        prices = getattr(self.estimator, "prices_", None) if has_prices else None
        return oracle.label(self.centers, nearest=True, prices=prices)

    @property
    def size_bounds(self) -> tuple[float, float] | None:
        """The least and the most rows, or weight, of a cluster; None if they were not bounded."""
        bounds = getattr(self.estimator, "size_bounds_", None)
        return None if bounds is None else (float(bounds[0]), float(bounds[1]))

    def training_counts(self) -> FloatArray | None:
        """The size of each cluster in the training data, (n_clusters,); None if the estimator did not keep it."""
        labels = getattr(self.estimator, "labels_", None)
        if isinstance(labels, np.ndarray):
            return np.bincount(labels, minlength=self.n_clusters).astype(np.float64)
        weights = getattr(self.estimator, "cluster_weights_", None)
        return None if weights is None else np.asarray(weights, dtype=np.float64)


def _is_imputer(scaler: BaseEstimator) -> bool:
    """Whether a transformer only fills missing values. It keeps the features unless it adds indicators."""
    return type(scaler).__name__.endswith("Imputer") and not getattr(scaler, "add_indicator", False)


ModelLike: TypeAlias = FittedModel | BaseEstimator | Sequence[BaseEstimator]  # a pipeline is a BaseEstimator too


def as_fitted_model(model: ModelLike) -> FittedModel:
    """A fitted estimator, a pipeline that ends with one, or a sequence (scaler, ..., estimator), taken apart."""
    if isinstance(model, FittedModel):
        return model
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else model
    parts = steps if isinstance(steps, (list, tuple)) else [steps]
    *scalers, estimator = [part for part in parts if part is not None and part != "passthrough"] or [model]
    if not hasattr(estimator, "cluster_centers_"):
        name = type(estimator).__name__
        if hasattr(estimator, "fit"):
            raise NotFittedError(f"this {name} has no cluster_centers_; call fit before plotting or reporting it.")
        raise TypeError(
            f"a {name} is not a model; give a fitted estimator with cluster_centers_, such as EulerMeans, or a "
            "pipeline that ends with one."
        )
    centers = np.array(estimator.cluster_centers_, dtype=np.float64)
    if getattr(estimator, "metric", "euclidean") == "cosine":
        centers = unit_centers(centers)
    return FittedModel(estimator, tuple(scalers), centers)


def as_matrix(rows: Matrix | pd.DataFrame | Sequence[Sequence[float]]) -> Matrix:
    """Rows as a two-dimensional array of numbers or in CSR format."""
    if issparse(rows):
        return csr_array(rows)
    array = np.asarray(rows)
    if array.ndim != 2:
        raise ValueError(f"the data has {array.ndim} axes; give a table of rows and features.")
    return array if array.dtype.kind in "fiub" else array.astype(np.float64)


def to_dense(matrix: Matrix) -> Array:
    """The matrix as a dense array."""
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
