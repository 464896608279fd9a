"""Find customer segments: scale features with different units, choose K, and read the centers in those units.

    python examples/customer_segments.py [--output segments.png] [--small]

Needs pandas and the extra `plot`. The customers are made up and of five kinds, so that we can check whether
k-means finds the kinds. Without scaling it does not, because squared euros outweigh everything else.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eulermeans import EulerMeans, sweep

# Mean and standard deviation of each feature, for each of the five kinds of customers.
KINDS = {
    "age": [(24, 4), (38, 6), (45, 8), (68, 7), (33, 6)],
    "visits per month": [(6, 1.5), (4, 1.2), (1, 0.4), (7, 1.5), (0.3, 0.1)],
    "euros per year": [(900, 250), (4800, 700), (1500, 400), (2600, 500), (350, 120)],
    "share online": [(0.85, 0.07), (0.55, 0.1), (0.15, 0.06), (0.08, 0.04), (0.9, 0.05)],
    "days since last visit": [(6, 3), (10, 4), (45, 12), (5, 2), (210, 40)],
}


def main() -> None:
    """Choose K, fit, and show the segments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", default="segments.png")
    parser.add_argument("--small", action="store_true", help="use 1000 customers, not 20000, for a quick look")
    options = parser.parse_args()
    kinds, customers = made_up(1_000 if options.small else 20_000, np.random.default_rng(0))

    found = sweep(StandardScaler().fit_transform(customers), "2:10", random_state=0)
    print(found, end="\n\n")

    model = make_pipeline(StandardScaler(), EulerMeans(found.recommended, random_state=0)).fit(customers)
    raw = EulerMeans(found.recommended, random_state=0).fit(customers)
    for name, labels in (("scaled", model[-1].labels_), ("not scaled", raw.labels_)):
        print(f"agreement with the true kinds, {name}: {adjusted_rand_score(kinds, labels):.2f}")

    centers = pd.DataFrame(model[0].inverse_transform(model[-1].cluster_centers_), columns=customers.columns)
    centers.insert(0, "share", np.bincount(model[-1].labels_) / len(customers))
    centers = centers.sort_values("euros per year", ascending=False, ignore_index=True)
    print(f"\nthe segments, in the units of the data:\n{centers.round(2).to_string()}")
    draw(centers, customers, options.output)
    print(f"wrote {options.output}")


def made_up(n_customers: int, rng: np.random.Generator) -> tuple[np.ndarray, pd.DataFrame]:
    """The kind of each customer, and the customers' features."""
    kinds = rng.choice(5, size=n_customers, p=[0.3, 0.1, 0.25, 0.15, 0.2])
    columns = {name: rng.normal(*np.array(of_kind)[kinds].T).clip(0) for name, of_kind in KINDS.items()}
    return kinds, pd.DataFrame(columns)


def draw(centers: pd.DataFrame, customers: pd.DataFrame, path: str) -> None:
    """The centers as numbers; the color shows how far each lies from the mean of all customers."""
    names = list(customers.columns)
    deviations = (centers[names] - customers.mean()) / customers.std()
    ax = Figure(figsize=(8, 3.6), layout="constrained").subplots()
    ax.imshow(deviations, cmap="RdBu_r", vmin=-2.5, vmax=2.5, aspect="auto")
    for (row, column), value in np.ndenumerate(centers[names].to_numpy()):
        color = "white" if abs(deviations.iloc[row, column]) > 1.5 else "black"
        ax.text(column, row, f"{value:,.{0 if value >= 10 else 2}f}", ha="center", va="center", color=color)
    ax.set_xticks(range(len(names)), names)
    ax.set_yticks(range(len(centers)), [f"{share:.0%}" for share in centers["share"]])
    ax.set(title="Segments: red is above the mean of all customers, blue below", ylabel="share of all customers")
    ax.figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
