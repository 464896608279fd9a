"""What a report says, as records: numbers and names, no words and no pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..plot.fitted import Fitted


@dataclass(frozen=True)
class Feature:
    """One column of the data, in its own unit."""

    name: str
    mean: float
    deviation: float  # standard
    low: float
    high: float
    separation: float  # part of its variance that is between clusters, 0 to 1


@dataclass(frozen=True)
class Trait:
    """A feature in which a cluster differs from the rest."""

    name: str
    mean: float  # of the cluster's rows
    overall: float  # of all rows
    deviations: float  # from the one to the other, in standard deviations of all rows


@dataclass(frozen=True)
class NearRow:
    """A row that lies close to a center: an example of its cluster."""

    id: str
    distance: float
    values: tuple[tuple[str, float], ...]  # in the features that set the cluster apart


@dataclass(frozen=True)
class Cluster:
    """One cluster of the data at hand."""

    number: int
    size: float  # rows, or their weight
    share: float  # of all
    spread: float  # root of the mean squared distance to the center, where clusters were made
    silhouette: float | None  # mean over the sample; None: no row of it is in the sample
    traits: tuple[Trait, ...]  # the strongest first
    nearest: tuple[NearRow, ...]  # the nearest first


@dataclass(frozen=True)
class Sample:
    """Rows drawn uniformly, for what can't be done with all of them."""

    rows: Any  # (n, n_features) as they came, an array or CSR
    points: Any  # (n, any) where clusters were made
    labels: NDArray[np.int32]  # (n,)
    silhouettes: FloatArray | None  # of the first of them; None where there are no two clusters


@dataclass(frozen=True)
class Finding:
    """Something that a person should know before trusting the clusters."""

    serious: bool
    headline: str
    text: str


@dataclass(frozen=True)
class Description:
    """A model and the data it was asked about."""

    model: Fitted
    source: str  # what the data are called
    n_rows: int
    n_features: int
    total_weight: float
    weighted: bool
    objective: float  # φ of these data
    single: float  # φ with one center only
    features: tuple[Feature, ...]
    clusters: tuple[Cluster, ...]  # the largest first, at most as many as asked for
    counts: FloatArray  # (n_clusters,) rows or weight, of all clusters
    means: FloatArray  # (n_clusters, n_features) of the rows as they came; the center's place where there are none
    sample: Sample
    findings: tuple[Finding, ...] = ()

    @property
    def explained(self) -> float:
        """The part of the variance that is between the clusters."""
        return max(0.0, 1 - self.objective / self.single) if self.single > 0 else 0.0

    @property
    def silhouette(self) -> float | None:
        """The mean over the sample."""
        values = self.sample.silhouettes
        return None if values is None else float(values.mean())
