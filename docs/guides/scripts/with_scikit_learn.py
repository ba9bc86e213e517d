"""A frame of counts, texts and measurements with gaps, in groups, by package latent.

    python3 with_scikit_learn.py
"""
import warnings

import pandas as pd
from latent import LatentMixture, LatentWarning

frame = pd.DataFrame(
    {
        "visits": [i % 3 if i % 2 else 9 + i % 4 for i in range(40)],
        "paid": ["yes" if i % 2 and i % 7 else "no" for i in range(40)],
        "minutes": [None if i % 9 == 4 else 20.0 + 30 * (i % 2) + i % 5 for i in range(40)],
    }
)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", LatentWarning)  # gaps are integrated out: result_["warnings"] has it too
    model = LatentMixture(family="auto").fit(frame)
print(model.n_components_, "groups,", f"evidence {model.evidence_:.2f} nats")

frame["group"] = model.predict(frame)
print(frame.groupby("group").agg(people=("paid", "size"), visits=("visits", "mean"), minutes=("minutes", "mean")).round(2))

rows, groups = model.sample(2, random_state=1)
print(rows.assign(group=groups).round(1))
