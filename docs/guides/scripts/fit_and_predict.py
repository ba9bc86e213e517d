"""Fits, reads the model and predicts, by the command latent and Python's standard library.

    python3 fit_and_predict.py [latent]
"""
import json
import math
import os
import subprocess
import sys
import tempfile

LATENT = sys.argv[1] if len(sys.argv) > 1 else "latent"


def latent(*args, rows=None):
    """Runs the command on rows, a list of dicts or None, and returns what it writes.

    What it says about the data goes to standard error; what it cannot do is an exception, of one line.
    """
    text = None
    if rows is not None:
        names = list(rows[0])
        lines = [names] + [["" if row[n] is None else str(row[n]) for n in names] for row in rows]
        text = "".join(",".join(line) + "\n" for line in lines)
    done = subprocess.run([LATENT, *args], input=text, capture_output=True, encoding="utf-8")
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    sys.stderr.write(done.stderr)
    return done.stdout


def gaussians(params):
    """weights_, means_ and covariances_ as scikit-learn's GaussianMixture has them, of full covariances."""
    d = params["d"]
    size = d + d * d
    flat = params["components"]
    parts = [flat[k * size : (k + 1) * size] for k in range(params["k"])]
    means = [part[:d] for part in parts]
    covariances = [[part[d + i * d : d + (i + 1) * d] for i in range(d)] for part in parts]
    return params["weights"], means, covariances


folder = tempfile.TemporaryDirectory()  # it goes when the script ends
geyser = os.path.join(folder.name, "geyser.json")

# Fit: the report as JSON on standard output, the model in a file.
fit = json.loads(latent("fit", "--data", "faithful", "--out", geyser, "--format", "json"))
print(fit["k"], "components,", "converged" if fit["converged"] else fit["status"])

# Read: the model file is JSON with the same fields.
with open(geyser, encoding="utf-8") as file:
    model = json.load(file)
weights, means, covariances = gaussians(model["params"])
for k in range(model["k"]):
    print(f"weight {weights[k]:.3f}, mean {means[k][0]:.2f} {means[k][1]:.2f}, variances {covariances[k][0][0]:.3f} {covariances[k][1][1]:.2f}")

# Predict: lists with one entry a row.
new = [{"eruptions": 1.9, "waiting": 52}, {"eruptions": 4.4, "waiting": 81}, {"eruptions": 3.1, "waiting": 68}]
answer = json.loads(latent("predict", geyser, "--data", "-", "--format", "json", rows=new))
for row, label, q, log_likelihood in zip(new, answer["label"], answer["responsibilities"], answer["log_likelihood"]):
    print(row["eruptions"], row["waiting"], "component", label, f"{q[label - 1]:.4f}", f"{log_likelihood:.3f}")


# The numbers are all that the density needs.
def log_density(x, mean, cov):
    (a, b), (_, c) = cov
    det = a * c - b * b
    u, v = x[0] - mean[0], x[1] - mean[1]
    return -math.log(2 * math.pi) - math.log(det) / 2 - (c * u * u - 2 * b * u * v + a * v * v) / det / 2


x = list(new[2].values())
by_hand = math.log(sum(w * math.exp(log_density(x, m, c)) for w, m, c in zip(weights, means, covariances)))
assert abs(by_hand - answer["log_likelihood"][2]) < 1e-9, (by_hand, answer["log_likelihood"][2])
