"""
Cosine on TF-IDF: sparse counts of words
========================================

Long texts have long vectors, so Euclidean k-means on counts of words separates long texts from short ones.
``metric="cosine"`` compares directions only. The counts stay sparse: no dense copy is made.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import adjusted_rand_score

from eulermeans import EulerMeans

N_TOPICS, N_WORDS, N_TEXTS = 8, 2000, 1500
rng = np.random.default_rng(0)
common = rng.dirichlet(np.full(N_WORDS, 0.5))
of_topics = [0.7 * common + 0.3 * rng.dirichlet(np.full(N_WORDS, 0.05)) for _ in range(N_TOPICS)]
topics = rng.integers(N_TOPICS, size=N_TEXTS)
lengths = np.exp(rng.normal(5.5, 1.0, size=N_TEXTS)).astype(int) + 30  # words in a text
texts = csr_matrix(np.array([rng.multinomial(n, of_topics[t]) for n, t in zip(lengths, topics, strict=True)]))
X = TfidfTransformer(norm=None).fit_transform(texts)
print(
    f"{X.shape[0]} texts of {lengths.min()} to {lengths.max()} words, {X.nnz / np.prod(X.shape):.1%} of X stored"
)

# %%
# The same data with both metrics.

euclidean = EulerMeans(N_TOPICS, random_state=0).fit(X)
cosine = EulerMeans(N_TOPICS, metric="cosine", random_state=0).fit(X)
agreement = {
    "euclidean": adjusted_rand_score(topics, euclidean.labels_),
    "cosine": adjusted_rand_score(topics, cosine.labels_),
}
for metric, value in agreement.items():
    print(f"agreement with the true topics, {metric}: {value:.2f}")

# %%
# Each dot is a text. Euclidean clusters are ranges of length, cosine clusters are topics.

figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for ax, model in zip(axes, (euclidean, cosine), strict=True):
    place = model.labels_ + rng.uniform(-0.35, 0.35, size=N_TEXTS)
    ax.scatter(place, lengths, c=topics, cmap="tab10", vmax=9, s=6, linewidths=0)
    ax.set(title=f"metric={model.metric!r}", xlabel="cluster; the color is the true topic", yscale="log")
axes[0].set_ylabel("words in the text")
plt.show()
