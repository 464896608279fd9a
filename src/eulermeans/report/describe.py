"""From a model and data to a Description: the numbers of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import FloatArray
from ..plot.fitted_model import ModelLike, as_fitted_model
from ..plot.model_data import ModelData, RowIds, as_model_data
from .findings import findings
from .measurements import Measurements, measure
from .report_records import Cluster, Description, Feature, NearRow, Sample, Trait

MOST_CLUSTERS = 200  # clusters that are described one by one
TRAITS = 3  # features that are named for each cluster
NO_DIFFERENCE = 0.05  # standard deviations from the mean of all rows below which a feature is not named


def describe(
    model: ModelLike,
    data: object,
    *,
    name: str | None = None,
    feature_names: Sequence[str] | None = None,
    sample_weight: ArrayLike | None = None,
    ids: RowIds | None = None,
    random_state: int = 0,
    most_clusters: int = MOST_CLUSTERS,
) -> Description:
    """Describe the clusters of the data in one pass over it; see `write` for the arguments."""
    fitted = as_fitted_model(model)
    rows = as_model_data(
        fitted, data, name=name, feature_names=feature_names, sample_weight=sample_weight, ids=ids
    )
    measured, sample = measure(rows, np.random.default_rng(random_state))
    if measured.counts.sum() <= 0:
        raise ValueError("every row has weight zero; there is nothing to report on.")
    features, means = _features(rows, measured), _means(rows, measured)
    moments = measured.moments
    description = Description(
        model=fitted,
        source=rows.name,
        n_rows=measured.n_rows,
        n_features=len(rows.feature_names),
        total_weight=moments.total_weight,
        weighted=rows.is_weighted,
        objective=moments.objective,
        single=moments.spread(fitted.centers),
        features=features,
        clusters=_clusters(rows, measured, means, features, sample, most_clusters),
        counts=measured.counts,
        means=means,
        sample=sample,
    )
    return replace(description, findings=tuple(findings(description)))


def _features(rows: ModelData, measured: Measurements) -> tuple[Feature, ...]:
    mean, variance = measured.feature_means(), measured.feature_variances()
    weight = np.where(measured.counts > 0, measured.counts, 1)[:, None]
    between = measured.counts @ (measured.sums / weight - mean) ** 2 / measured.counts.sum()
    separation = np.divide(between, variance, out=np.zeros_like(between), where=variance > 0)
    columns = (mean, np.sqrt(variance), measured.low, measured.high, np.clip(separation, 0, 1))
    return tuple(
        Feature(name, *map(float, values)) for name, *values in zip(rows.feature_names, *columns, strict=True)
    )


def _means(rows: ModelData, measured: Measurements) -> FloatArray:
    """The mean of each cluster in the units of the data.

    For an empty cluster that is its center, or the mean of all rows if the scaling cannot be undone.
    """
    filled = measured.counts > 0
    means = np.tile(measured.feature_means(), (len(filled), 1))
    if not filled.all() and not rows.is_encoded:
        original = rows.model.inverse_transform(rows.model.centers)
        if original is not None and original.shape == means.shape:
            means = np.array(original, dtype=np.float64)
    means[filled] = measured.sums[filled] / measured.counts[filled, None]
    return means


def _clusters(
    rows: ModelData,
    measured: Measurements,
    means: FloatArray,
    features: tuple[Feature, ...],
    sample: Sample,
    most: int,
) -> tuple[Cluster, ...]:
    overall = np.array([feature.mean for feature in features])
    deviation = np.array([feature.deviation for feature in features])
    described = []
    largest = np.argsort(-measured.counts, kind="stable")[:most]
    ids = rows.ids_of(near.number for cluster in largest for near in measured.nearest[cluster])
    for cluster in map(int, largest):
        size = float(measured.counts[cluster])
        away = np.divide(means[cluster] - overall, deviation, out=np.zeros_like(overall), where=deviation > 0)
        columns = np.argsort(-np.abs(away), kind="stable")[:TRAITS]
        columns = columns[np.abs(away[columns]) > NO_DIFFERENCE] if size > 0 else columns[:0]
        nearest = []
        for near in measured.nearest[cluster]:
            values = tuple((features[i].name, float(near.values[i])) for i in columns)
            nearest.append(NearRow(ids[near.number], float(np.sqrt(near.squared)), values))
        described.append(
            Cluster(
                number=cluster,
                size=size,
                share=size / float(measured.counts.sum()),
                spread=float(np.sqrt(measured.costs[cluster] / size)) if size > 0 else 0.0,
                silhouette=_silhouette_of(sample, cluster),
                traits=tuple(
                    Trait(features[i].name, float(means[cluster, i]), features[i].mean, float(away[i]))
                    for i in columns
                ),
                nearest=tuple(nearest),
            )
        )
    return tuple(described)


def _silhouette_of(sample: Sample, cluster: int) -> float | None:
    if sample.silhouettes is None:
        return None
    own = sample.silhouettes[sample.labels[: len(sample.silhouettes)] == cluster]
    return float(own.mean()) if len(own) else None
