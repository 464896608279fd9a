"""
Customer segments
=================

Features with different units must be scaled, or squared euros outweigh everything else. The customers are made up
and of five kinds, so that we can check whether k-means finds the kinds.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
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
rng = np.random.default_rng(0)
kinds = rng.choice(5, size=2000, p=[0.3, 0.1, 0.25, 0.15, 0.2])
customers = pd.DataFrame({name: rng.normal(*np.array(kind)[kinds].T).clip(0) for name, kind in KINDS.items()})
customers.head()

# %%
# How many segments? The sweep sees the scaled features.

found = sweep(StandardScaler().fit_transform(customers), "2:8", random_state=0)
print(found)

# %%
# A pipeline keeps the scaling with the model. Without it, the kinds are not found.

model = make_pipeline(StandardScaler(), EulerMeans(found.recommended, random_state=0)).fit(customers)
unscaled = EulerMeans(found.recommended, random_state=0).fit(customers)
scaled_agreement = adjusted_rand_score(kinds, model[-1].labels_)
unscaled_agreement = adjusted_rand_score(kinds, unscaled.labels_)
print(f"agreement with the true kinds: {scaled_agreement:.2f} scaled, {unscaled_agreement:.2f} not scaled")

# %%
# The centers, back in the units of the data. Red is above the mean of all customers, blue is below.

centers = pd.DataFrame(model[0].inverse_transform(model[-1].cluster_centers_), columns=customers.columns)
shares = np.bincount(model[-1].labels_) / len(customers)
deviations = (centers - customers.mean()) / customers.std()

figure, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
ax.imshow(deviations, cmap="RdBu_r", vmin=-2.5, vmax=2.5, aspect="auto")
for (row, column), value in np.ndenumerate(centers.to_numpy()):
    color = "white" if abs(deviations.iloc[row, column]) > 1.5 else "black"
    ax.text(column, row, f"{value:,.{0 if value >= 10 else 2}f}", ha="center", va="center", color=color)
ax.set_xticks(range(len(KINDS)), KINDS)
ax.set_yticks(range(len(centers)), [f"{share:.0%}" for share in shares])
ax.set(title="Segments", ylabel="share of all customers")
plt.show()
