"""The contents of a report as records: numbers and names, without sentences and plots."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, FloatArray
from ..plot.fitted_model import FittedModel, Matrix

LONG_TAIL = 12  # standard deviations above the mean that the highest value of a feature with a long tail exceeds


@dataclass(frozen=True)
class Feature:
    """One column of the data, in its own unit."""

    name: str
    mean: float
    deviation: float  # standard deviation
    low: float
    high: float
    separation: float  # share of its variance that is between clusters, 0 to 1
    n_missing: int = 0  # rows without a value, which the pipeline fills
    is_identifier: bool = False  # whole numbers that differ in every row: a running number or a key

    @property
    def is_flag(self) -> bool:
        """Whether all values are 0 or 1: only then the variance is mean (1 − mean)."""
        spread = self.mean * (1 - self.mean)
        return self.low == 0 and self.high == 1 and bool(np.isclose(self.deviation**2, spread, rtol=1e-6))

    @property
    def has_long_tail(self) -> bool:
        """Whether a few values are far above the others."""
        return self.high > self.mean + LONG_TAIL * self.deviation > self.mean


@dataclass(frozen=True)
class Trait:
    """A feature in which a cluster differs from the rest."""

    name: str
    mean: float  # of the cluster's rows
    overall: float  # mean of all rows
    deviations: float  # their difference, in standard deviations of all rows


@dataclass(frozen=True)
class NearRow:
    """A row close to a center, as an example of the cluster."""

    id: str
    distance: float
    values: tuple[tuple[str, float], ...]  # name and value of each feature in `Cluster.traits`
    row: Array = field(compare=False, repr=False)  # (n_features,) in the units of the data


@dataclass(frozen=True)
class Cluster:
    """One cluster of the data."""

    number: int
    sentence: str  # what sets it apart, in words
    size: float  # number of rows, or their weight
    share: float  # of all rows
    spread: float  # root mean squared distance to the center, after scaling
    silhouette: float | None  # mean over the cluster's rows in the sample; None if there are none
    found_again: float | None  # 0 to 1, see `Stability.clusters`
    traits: tuple[Trait, ...]  # the largest difference first
    nearest: tuple[NearRow, ...]  # the nearest first


@dataclass(frozen=True)
class Sample:
    """Rows drawn uniformly, in random order, for what is too expensive for all rows."""

    points: Matrix  # (n, n_features of the centers) after scaling
    labels: NDArray[np.int32]  # (n,)
    silhouettes: FloatArray | None  # of the first rows; None if they are not of two or more clusters


@dataclass(frozen=True)
class ShownRows:
    """Rows drawn uniformly that a page shows one by one, with their numbers, ids and values."""

    numbers: NDArray[np.int64]  # (n,) from 0
    rows: Array  # (n, n_features) in the units of the data
    points: Array  # (n, n_features of the centers) after scaling
    labels: NDArray[np.int32]  # (n,)
    ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stability:
    """How well clusters are found again when halves of a sample are clustered anew."""

    overall: float  # mean adjusted Rand index: 1 for the same clusters, 0 for chance
    clusters: FloatArray  # (n_clusters,) mean of the best Jaccard index; NaN without rows in the sample
    n_refits: int
    n_rows: int  # of each half


@dataclass(frozen=True)
class Finding:
    """Something to know before trusting the clusters."""

    serious: bool
    headline: str
    text: str


@dataclass(frozen=True)
class Description:
    """A model and the data that it is reported on."""

    model: FittedModel
    source: str  # name of the data
    n_rows: int
    n_features: int
    total_weight: float
    weighted: bool
    objective: float  # φ on this data
    single: float  # φ with a single center
    features: tuple[Feature, ...]
    clusters: tuple[Cluster, ...]  # the largest first, at most as many as asked for
    counts: FloatArray  # (n_clusters,) rows or weight of all clusters
    means: FloatArray  # (n_clusters, n_features) in the units of the data; the center if a cluster is empty
    sample: Sample
    shown: ShownRows
    stability: Stability | None  # None for one cluster, or if there are too few rows to tell
    image_shape: tuple[int, ...] | None = None  # if rows are images
    findings: tuple[Finding, ...] = ()

    @property
    def unit(self) -> str:
        """What `counts` counts."""
        return "weight" if self.weighted else "rows"

    @property
    def explained(self) -> float:
        """The share of the variance that is between the clusters."""
        return max(0.0, 1 - self.objective / self.single) if self.single > 0 else 0.0

    @property
    def silhouette(self) -> float | None:
        """The mean over the sample."""
        values = self.sample.silhouettes
        return None if values is None else float(values.mean())
