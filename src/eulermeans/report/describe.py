"""From a model and data to a Description: the numbers of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..plot.clusters import SILHOUETTE_ROWS, silhouettes
from ..plot.fitted import fitted
from ..plot.rows import Rows, as_rows
from .findings import findings
from .measure import Measurements, measure
from .records import Cluster, Description, Feature, NearRow, Sample, Trait

MOST_CLUSTERS = 200  # that are described one by one
TRAITS = 3  # features that are named for each cluster
NOTHING = 0.05  # standard deviations from the mean that set no cluster apart


def describe(
    model: Any,
    data: Any,
    *,
    name: str | None = None,
    feature_names: Sequence[str] | None = None,
    sample_weight: Any = None,
    ids: Any = None,
    random_state: int = 0,
    most_clusters: int = MOST_CLUSTERS,
) -> Description:
    """What the clusters of the data are like, by one pass over them; see `write` for the arguments."""
    parts = fitted(model)
    rows = as_rows(parts, data, name=name, feature_names=feature_names, sample_weight=sample_weight, ids=ids)
    measured = measure(rows, np.random.default_rng(random_state))
    if measured.counts.sum() <= 0:
        raise ValueError("every row has weight zero; there is nothing to report on.")
    sample = _sample(rows, measured)
    features = _features(rows, measured)
    means = _means(rows, measured)
    moments = measured.moments
    description = Description(
        model=parts,
        source=rows.name,
        n_rows=measured.n_rows,
        n_features=len(rows.feature_names),
        total_weight=moments.total_weight,
        weighted=rows.weighted,
        objective=moments.objective,
        single=moments.spread(parts.centers),
        features=features,
        clusters=_clusters(rows, measured, means, features, sample, most_clusters),
        counts=measured.counts,
        means=means,
        sample=sample,
    )
    return replace(description, findings=tuple(findings(description)))


def _sample(rows: Rows, measured: Measurements) -> Sample:
    drawn, points, labels = measured.sample.kept
    first = slice(0, SILHOUETTE_ROWS)
    return Sample(drawn, points, labels, silhouettes(rows.model, points[first], labels[first]))


def _features(rows: Rows, measured: Measurements) -> tuple[Feature, ...]:
    mean, variance = measured.feature_means(), measured.feature_variances()
    weight = np.where(measured.counts > 0, measured.counts, 1)[:, None]
    between = measured.counts @ (measured.sums / weight - mean) ** 2 / measured.counts.sum()
    separation = np.divide(between, variance, out=np.zeros_like(between), where=variance > 0)
    return tuple(
        Feature(name, *map(float, values))
        for name, *values in zip(
            rows.feature_names,
            mean,
            np.sqrt(variance),
            measured.low,
            measured.high,
            np.clip(separation, 0, 1),
            strict=True,
        )
    )


def _means(rows: Rows, measured: Measurements) -> FloatArray:
    """The mean row of each cluster as rows came; of an empty one where its center is, if that can be said."""
    filled = measured.counts > 0
    means = np.tile(measured.feature_means(), (len(filled), 1))
    if not filled.all() and not rows.mixed:
        original = rows.model.leave(rows.model.centers)
        if original is not None and original.shape == means.shape:
            means = np.array(original, dtype=np.float64)
    means[filled] = measured.sums[filled] / measured.counts[filled, None]
    return means


def _clusters(
    rows: Rows,
    measured: Measurements,
    means: FloatArray,
    features: tuple[Feature, ...],
    sample: Sample,
    most: int,
) -> tuple[Cluster, ...]:
    overall = np.array([feature.mean for feature in features])
    deviation = np.array([feature.deviation for feature in features])
    described = []
    shown = np.argsort(-measured.counts, kind="stable")[:most]
    ids = rows.ids_of(int(row) for row in measured.near_row[shown].ravel() if row >= 0)
    for number in shown:
        size = float(measured.counts[number])
        away = np.divide(means[number] - overall, deviation, out=np.zeros_like(overall), where=deviation > 0)
        strongest = np.argsort(-np.abs(away), kind="stable")[:TRAITS]
        strongest = strongest[np.abs(away[strongest]) > NOTHING] if size > 0 else strongest[:0]
        traits = tuple(
            Trait(features[column].name, float(means[number, column]), float(overall[column]), float(away[column]))
            for column in strongest
        )
        described.append(
            Cluster(
                number=int(number),
                size=size,
                share=size / float(measured.counts.sum()),
                spread=float(np.sqrt(measured.costs[number] / size)) if size > 0 else 0.0,
                silhouette=_silhouette_of(sample, int(number)),
                traits=traits,
                nearest=_nearest(ids, rows.feature_names, measured, int(number), strongest),
            )
        )
    return tuple(described)


def _silhouette_of(sample: Sample, number: int) -> float | None:
    if sample.silhouettes is None:
        return None
    own = sample.silhouettes[sample.labels[: len(sample.silhouettes)] == number]
    return float(own.mean()) if len(own) else None


def _nearest(
    ids: dict[int, str], names: list[str], measured: Measurements, number: int, columns: NDArray[np.intp]
) -> tuple[NearRow, ...]:
    found = []
    for place, row in enumerate(measured.near_row[number]):
        if row >= 0:
            values = measured.near_values[number, place]
            found.append(
                NearRow(
                    ids[int(row)],
                    float(np.sqrt(measured.near_distance[number, place])),
                    tuple((names[column], float(values[column])) for column in columns),
                )
            )
    return tuple(found)
