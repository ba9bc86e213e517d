"""A frame of pandas goes to the command as Parquet, and the predictions come back as a frame: for mixed columns with gaps.

    python3 with_pandas.py [latent]
"""
import io
import os
import subprocess
import sys
import tempfile

import pandas as pd

LATENT = sys.argv[1] if len(sys.argv) > 1 else "latent"


def latent(*args):
    done = subprocess.run([LATENT, *args], capture_output=True, encoding="utf-8")
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return done.stdout


frame = pd.DataFrame(
    {
        "person": [f"p{i}" for i in range(40)],
        "visits": [i % 3 if i % 2 else 9 + i % 4 for i in range(40)],
        "paid": ["yes" if i % 2 and i % 7 else "no" for i in range(40)],
        "minutes": [None if i % 9 == 4 else 20.0 + 30 * (i % 2) + i % 5 for i in range(40)],
    }
)
with tempfile.TemporaryDirectory() as folder:
    table, model = os.path.join(folder, "people.parquet"), os.path.join(folder, "people.json")
    frame.to_parquet(table)
    latent("fit", "--data", table, "--family", "auto", "--drop", "person", "--out", model)
    found = pd.read_csv(io.StringIO(latent("predict", model, "--data", table, "--id", "person")))
frame = frame.merge(found[["person", "label", "probability"]], on="person")
print(frame.groupby("label").agg(people=("person", "size"), visits=("visits", "mean"), minutes=("minutes", "mean")).round(2))
