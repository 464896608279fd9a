"""
Topics of texts, from embeddings
================================

Embeddings of texts are compared by their directions, so ``metric="cosine"`` fits. The texts here are the
docstrings of SciPy's functions, and the embeddings are latent semantic analysis, so that nothing has to be
fetched. Vectors from a language model are clustered in the same way.
"""

from importlib import import_module

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from eulermeans import EulerMeans

MODULES = ("linalg", "fft", "special", "stats", "ndimage", "signal", "optimize", "spatial", "interpolate")
texts, modules = [], []
for module in MODULES:
    members = import_module(f"scipy.{module}")
    for name in members.__all__:
        text = getattr(members, name).__doc__ or ""
        text = text.split("References\n")[0].split("Examples\n")[0]
        if len(text) > 300:
            texts.append(text)
            modules.append(module)
print(f"{len(texts)} texts from {len(MODULES)} modules")

# %%
# Embeddings of 50 dimensions.

words = TfidfVectorizer(stop_words="english", token_pattern=r"[a-z]{3,}", min_df=5, max_df=0.2, sublinear_tf=True)
counts = words.fit_transform(texts)
embeddings = TruncatedSVD(50, random_state=0).fit_transform(counts).astype(np.float32)

# %%
# Twelve topics. The words of a topic are those that are frequent in its texts and rare in others.

model = EulerMeans(12, metric="cosine", random_state=0).fit(embeddings)
vocabulary = words.get_feature_names_out()
everywhere = np.asarray(counts.mean(axis=0)).ravel()
topics = []
for topic in range(model.n_clusters):
    inside = np.asarray(counts[model.labels_ == topic].mean(axis=0)).ravel()
    topics.append(", ".join(vocabulary[np.argsort(everywhere - inside)[:4]]))
    print(f"{np.sum(model.labels_ == topic):4d} texts: {topics[-1]}")

# %%
# The topics know nothing of the modules, but most modules are one topic or a few.

table = np.zeros((model.n_clusters, len(MODULES)))
np.add.at(table, (model.labels_, [MODULES.index(module) for module in modules]), 1)
order = np.argsort(table.argmax(axis=1), kind="stable")

figure, ax = plt.subplots(figsize=(9, 4.6), layout="constrained")
picture = ax.imshow(
    table[order] / table[order].sum(axis=1, keepdims=True), cmap="Blues", vmin=0, vmax=1, aspect="auto"
)
ax.set_xticks(range(len(MODULES)), MODULES, fontsize=8)
ax.set_yticks(range(len(topics)), np.array(topics)[order], fontsize=9)
figure.colorbar(picture, label="share of the topic's texts")
plt.show()
