"""Warnings about columns of the data: what is wrong with one, and advice that fits it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..oracles import as_oracle
from ..plot.style import format_count, format_number, shorten
from .report_records import Description, Feature, Finding

# Features are on different scales if this share of them has more than this share of the variance.
FEW_FEATURES, MOST_VARIANCE = 0.05, 0.9
MANY_MISSING = 0.2  # of the rows; from there on, a column is more filled than measured
MOST_NAMED = 5  # columns that a finding lists


def identifier_columns(description: Description) -> Iterator[Finding]:
    """Running numbers and keys."""
    found = [feature for feature in description.features if feature.is_identifier]
    if found:
        one = len(found) == 1
        drop = ",".join(feature.name for feature in found[:MOST_NAMED])
        yield Finding(
            True,
            f"{quoted(found)} {'looks like an identifier' if one else 'look like identifiers'}",
            f"{'It has' if one else 'They have'} another whole number in every row, as a running number or a key "
            "does, so the clusters depend on how rows were numbered. Leave "
            f"{'it' if one else 'them'} out: --drop {shorten(drop, 80)}, or drop the "
            f"{'column' if one else 'columns'} before the fit.",
        )


def missing_values(description: Description) -> Iterator[Finding]:
    """Columns with values that the pipeline filled."""
    found = sorted((f for f in description.features if f.n_missing > 0), key=lambda feature: -feature.n_missing)
    if not found:
        return
    worst = found[0]
    share = worst.n_missing / description.n_rows
    shown = [
        f"{_quote(f)} has no value in {format_count(f.n_missing, 'row')} ({_percent(f, description)})"
        for f in found
    ]
    advice = "A few filled values hardly move a cluster."
    if share >= MANY_MISSING:
        advice = (
            "Rows without a value all get the same one, which can make a cluster of its own. Leave "
            f"{_quote(worst)} out, or check whether the rows without a value end up together."
        )
    yield Finding(
        share >= MANY_MISSING,
        f"Values are missing in {format_count(len(found), 'column')}",
        f"{join_names(shown)}. They were filled before clustering, and count here as filled. {advice}",
    )


def _percent(feature: Feature, description: Description) -> str:
    return f"{format_number(100 * feature.n_missing / description.n_rows, 2)}%"


def different_scales(description: Description) -> Iterator[Finding]:
    """A few columns that decide alone, because their numbers are larger."""
    variance = as_oracle(description.sample.points).variance()
    n_features = len(variance)
    if n_features < 2 or not variance.sum() > 0 or description.image_shape is not None:
        return
    order = np.argsort(-variance)
    few = max(1, int(FEW_FEATURES * n_features))
    share = float(variance[order[:few]].sum() / variance.sum())
    if share <= MOST_VARIANCE + (1 - MOST_VARIANCE) / n_features:
        return
    same = len(description.features) == n_features  # the scalers kept the features
    largest = [description.features[place] for place in order[:few]] if same else []
    which = quoted(largest, few) if same else join_names([f"Feature {place}" for place in order[:few]], few)
    yield Finding(
        True,
        "The features are on very different scales",
        f"{which} {'has' if few == 1 else 'have'} {format_number(100 * share, 3)}% of the variance, so the "
        f"other {format_count(n_features - few, 'feature')} hardly matter. {_scale_advice(largest)}",
    )


def _scale_advice(largest: list[Feature]) -> str:
    """What to do about columns with a large variance."""
    if largest and all(feature.is_identifier for feature in largest):
        return "Leave it out, as said above, before you scale the others."
    if largest and largest[0].has_long_tail and largest[0].low >= 0:
        return (
            f"A few values of {_quote(largest[0])} are far above all others: take its logarithm first, then scale "
            "all features: --scale standard, or a StandardScaler before the estimator."
        )
    return (
        "To give all features the same influence, scale them: --scale standard, or a StandardScaler before the "
        "estimator."
    )


def constant_features(description: Description) -> Iterator[Finding]:
    """Columns with a single value. The border of an image often has one, and needs no warning."""
    constant = [feature for feature in description.features if feature.low == feature.high]
    if constant and description.n_rows > 1 and description.image_shape is None:
        one = len(constant) == 1
        yield Finding(
            False,
            f"{format_count(len(constant), 'feature')} {'is' if one else 'are'} constant",
            f"{quoted(constant)} {'has' if one else 'have'} the same value in every row and can be left out.",
        )


def long_tails(description: Description) -> list[Feature]:
    """The features with a long tail, the longest first."""
    found = [feature for feature in description.features if feature.has_long_tail and not feature.is_flag]
    return sorted(found, key=lambda feature: -(feature.high - feature.mean) / feature.deviation)


def quoted(features: list[Feature], most: int = MOST_NAMED) -> str:
    """`“a”, “b” and 7 more`."""
    return join_names([_quote(feature) for feature in features], most)


def _quote(feature: Feature) -> str:
    return f"“{shorten(feature.name)}”"


def join_names(names: list[str], most: int = MOST_NAMED) -> str:
    """`a`, `a, b and c`, or if there are more than `most` names `a, b, c, d, e and 7 more`."""
    more = len(names) - most
    *first, last = names if more <= 0 else [*names[:most], f"{more:,} more"]
    return f"{', '.join(first)} and {last}" if first else last
