#!/usr/bin/env python3
"""Runs one workload with NumPy, SciPy or scikit-learn, and prints one line of JSON.

    peer.py DIR SIDE WORKLOAD KEY=VALUE...

The counterpart of bench/latent; docs/benchmarks.md says what is measured.
"""

import json
import os
import resource
import sys
import time

directory, side, workload = sys.argv[1:4]
options = dict(word.split("=", 1) for word in sys.argv[4:])
workers = options.get("workers", str(os.cpu_count()))
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = workers  # before NumPy is loaded

import warnings

import numpy as np

warnings.filterwarnings("ignore")  # fits that end at their number of iterations


def load(name):
    return np.load(os.path.join(directory, name + ".npy"))


def timed(action):
    """The time of an action, and what it returns; peak is the memory until then."""
    global peak
    clock = time.process_time if options.get("clock") == "processor" else time.perf_counter
    seconds, value = float("inf"), None
    for _ in range(int(options.get("again", 1))):
        del value
        begin = clock()
        value = action()
        seconds = min(seconds, clock() - begin)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return seconds, value


def gmm():
    """Iterations of scikit-learn's own E-step and M-step, without its start and its checks."""
    from sklearn.mixture import GaussianMixture
    from sklearn.mixture._gaussian_mixture import _compute_precision_cholesky

    d, k, cov = int(options["d"]), int(options["k"]), options["cov"]
    table = options.get("table", "gaussian") + str(d)
    x = load(table)[: int(options["n"])]
    model = GaussianMixture(k, covariance_type=cov, reg_covar=0)
    model.weights_ = np.full(k, 1 / k)
    model.means_ = load(table + "-start")[:k]
    model.covariances_ = {"full": np.tile(np.eye(d), (k, 1, 1)), "tied": np.eye(d), "diag": np.ones((k, d))}[cov]
    model.precisions_cholesky_ = _compute_precision_cholesky(model.covariances_, cov)
    iterations = int(options["iterations"])

    def run():
        for _ in range(iterations):
            _, log_resp = model._e_step(x)
            model._m_step(x, log_resp)

    seconds, _ = timed(run)
    return seconds / iterations, f"ln p = {model.score(x):.9f} a row", x.nbytes


def row():
    """The density of one row after another."""
    from sklearn.mixture import GaussianMixture
    from sklearn.mixture._gaussian_mixture import _compute_precision_cholesky

    d, k = int(options["d"]), int(options["k"])
    x = load(f"gaussian{d}")[: int(options["rows"])]
    model = GaussianMixture(k)
    model.weights_ = np.full(k, 1 / k)
    model.means_ = load(f"gaussian{d}-start")[:k]
    model.covariances_ = np.tile(np.eye(d), (k, 1, 1))
    model.precisions_cholesky_ = _compute_precision_cholesky(model.covariances_, "full")
    seconds, p = timed(lambda: np.mean([model.score_samples(x[i : i + 1])[0] for i in range(len(x))]))
    return seconds / len(x), f"ln p = {p:.9f} a row", x.nbytes


def ends():
    """A fit of full covariances by scikit-learn's defaults, but for the number of iterations."""
    from sklearn.mixture import GaussianMixture

    x = load(options["table"] + options["d"])
    model = GaussianMixture(int(options["k"]), max_iter=int(options["iterations"]), random_state=int(options["seed"]))
    seconds, _ = timed(lambda: model.fit(x))
    status = "converged" if model.converged_ else "iteration limit"
    return seconds, f"ln p = {model.score(x):.6f} a row, K = {model.n_components} ({model.n_iter_} iterations, {status})", x.nbytes


def choose():
    from sklearn.mixture import BayesianGaussianMixture, GaussianMixture

    x = load("choice" + options["seed"])
    if options["method"] == "bic":

        def run():
            values = [GaussianMixture(k, random_state=0).fit(x).bic(x) for k in range(1, 21)]
            return 1 + int(np.argmin(values))

        seconds, k = timed(run)
        return seconds, f"K = {k}", x.nbytes
    model = BayesianGaussianMixture(n_components=20, max_iter=1000, random_state=0)
    seconds, _ = timed(lambda: model.fit(x))
    used = len(np.unique(model.predict(x)))
    large = int(np.sum(model.weights_ > 0.01))
    return seconds, f"{used} components with rows, {large} above 1 % ({model.n_iter_} iterations)", x.nbytes


def bernoulli():
    """EM by two products of matrices an iteration."""
    dense = load(options["table"])
    p = load(options["table"] + "-start")
    weights = np.full(len(p), 1 / len(p))
    x = dense
    if side == "scipy.sparse":
        import scipy.sparse

        x = scipy.sparse.csr_matrix(dense)
        transposed = x.T.tocsr()
    else:
        transposed = x.T

    def scores(p, weights):
        return x @ (np.log(p) - np.log1p(-p)).T + (np.log1p(-p).sum(axis=1) + np.log(weights))

    iterations = int(options["iterations"])

    def run(p, weights):
        for _ in range(iterations):
            r = scores(p, weights)
            r -= r.max(axis=1, keepdims=True)
            np.exp(r, out=r)
            r /= r.sum(axis=1, keepdims=True)
            counts = r.sum(axis=0)
            p = np.clip((transposed @ r).T / counts[:, None], 1e-300, 1 - 1e-16)
            weights = counts / len(r)
        return p, weights

    seconds, (p, weights) = timed(lambda: run(p, weights))
    r = scores(p, weights)
    top = r.max(axis=1)
    value = np.mean(top + np.log(np.exp(r - top[:, None]).sum(axis=1)))
    return seconds / iterations, f"ln p = {value:.9f} a row", dense.nbytes


def bpca():
    x = load(options["table"])
    method = options["method"]
    if method == "eigh":  # the least work there is: nothing is chosen

        def run():
            centred = x - x.mean(axis=0)
            return np.linalg.eigh(centred.T @ centred)[1].shape[1]

        seconds, k = timed(run)
        return seconds, "eigenvectors alone", x.nbytes
    from sklearn.decomposition import PCA

    model = PCA("mle" if method == "mle" else None, svd_solver="full")
    seconds, _ = timed(lambda: model.fit(x))
    return seconds, f"K = {model.n_components_}" if method == "mle" else "all components", x.nbytes


def factor():
    from sklearn.decomposition import FactorAnalysis

    x = load(options["table"])
    n, d = x.shape
    scores = {}

    def sweep():
        for k in range(1, 11):
            value = FactorAnalysis(k).fit(x).score(x)
            scores[k] = (n * value - (d * k - k * (k - 1) / 2 + 2 * d) / 2 * np.log(n), value)

    seconds, _ = timed(sweep)
    best = max(scores, key=lambda k: scores[k])
    return seconds, f"K = {best} by BIC, ln p = {scores[best][1]:.6f} a row there", x.nbytes


def vbmf():
    x = load("matrix")
    seconds, _ = timed(lambda: np.linalg.svd(x, full_matrices=False))
    return seconds, "singular vectors", x.nbytes


def start():
    from sklearn.cluster import kmeans_plusplus

    x = load("gaussian10")
    if "sample" in options:
        rng = np.random.default_rng(0)
        rows = int(options["sample"])
        seconds, _ = timed(lambda: kmeans_plusplus(x[rng.choice(len(x), min(len(x), rows), replace=False)], int(options["k"]), random_state=0))
        return seconds, f"centres from {rows} rows", x.nbytes
    seconds, _ = timed(lambda: kmeans_plusplus(x, int(options["k"]), random_state=0))
    return seconds, "centres from all rows", x.nbytes


def read():
    path = os.path.join(directory, options.get("file", "reading") + "." + options["format"])
    if options["format"] == "npy":
        seconds, x = timed(lambda: np.load(path))
    elif side == "pyarrow":
        import pyarrow.dataset  # which reading imports
        import pyarrow.parquet

        table = lambda: pyarrow.parquet.read_table(path, use_threads=workers != "1")
        if "columns" in options:  # as pyarrow keeps them, not as a matrix of rows
            seconds, x = timed(table)
        else:
            seconds, x = timed(lambda: np.column_stack([c.to_numpy() for c in table().columns]))
    elif side == "pandas":
        import pandas

        seconds, x = timed(lambda: pandas.read_csv(path, header=None).to_numpy())
    else:
        seconds, x = timed(lambda: np.loadtxt(path, delimiter=","))
    return seconds, f"{x.shape[0]} × {x.shape[1]}", x.nbytes


seconds, found, size = {f.__name__: f for f in (gmm, ends, choose, bernoulli, bpca, factor, vbmf, start, read, row)}[workload]()
print(json.dumps({"seconds": seconds, "found": found, "data_bytes": size, "peak_bytes": peak}, ensure_ascii=False))
