#!/usr/bin/env python3
"""Makes Markdown tables of the measurements of run.sh: medians, ratios of medians, and the
targets beside them."""

import json
import os
import platform
import re
import statistics
import subprocess
import sys


def version(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def machine():
    words = []
    try:
        with open("/proc/cpuinfo") as f:
            info = f.read()
        model = re.search(r"model name\s*: (.*)", info)
        flags = re.search(r"flags\s*: (.*)", info)
        words.append(f"{os.cpu_count()} cores of {model.group(1) if model else platform.machine()}")
        if flags:
            words.append(next((name for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags.group(1).split()), "neither AVX2 nor AVX-512"))
    except OSError:
        words.append(f"{os.cpu_count()} cores, {platform.machine()}")
    words.append(version("go", "version").removeprefix("go version ").split(" ")[0])
    words.append("Python " + platform.python_version())
    for name in ("numpy", "scipy", "sklearn", "pandas", "pyarrow"):
        try:
            module = __import__(name)
            words.append(f"{name} {module.__version__}")
        except ImportError:
            pass
    try:
        import threadpoolctl

        words += sorted({f"{pool['internal_api']} {pool['version']}" for pool in threadpoolctl.threadpool_info() if pool["version"]})
    except ImportError:
        pass
    for name in ("mclust", "pcaMethods"):
        v = version("Rscript", "-e", f"cat(as.character(packageVersion('{name}')))")
        if v:
            words.append(f"{name} {v}")
    return ", ".join(words)


def seconds(s):
    return f"{s:.3g} s" if s >= 1 else f"{1000 * s:.3g} ms"


runs = {}
with open(sys.argv[1]) as f:
    for line in f:
        run = json.loads(line)
        runs.setdefault(run["workload"], {}).setdefault(run["side"], []).append(run)

print(machine() + ".\n")
print("| workload | program | median | min to max, runs | times this project's | peak memory beside the data, MiB | what it found |")
print("| --- | --- | --- | --- | --- | --- | --- |")
for workload, sides in runs.items():
    own = [side for side in sides if side.startswith("latent")]
    for side, rs in sides.items():
        times = [r["seconds"] for r in rs]
        # Beside this project with as many workers.
        alike = [o for o in own if ("workers=1" in o) == ("workers=1" in side)] or own
        first = statistics.median(r["seconds"] for r in sides[alike[0]]) if alike else None
        ratio = f"{statistics.median(times) / first:.2f}" if first else ""
        peak = max(r["peak_bytes"] for r in rs)
        beside = f"{(peak - rs[0]['data_bytes']) / 2**20:.0f}" if peak else ""
        found = "; ".join(dict.fromkeys(r["found"] for r in rs))
        print(
            f"| {workload} | {side.replace(':', ' ')} | {seconds(statistics.median(times))} | {seconds(min(times))} to {seconds(max(times))}, {len(times)} "
            f"| {ratio} | {beside} | {found} |".replace("|  |", "| |")
        )


def median(workload, side):
    rs = runs.get(workload, {}).get(side)
    return statistics.median(r["seconds"] for r in rs) if rs else None


def gmm(cov, d):
    return f"gmm cov={cov} d={d} k=10 n=200000 iterations={4 if d == 50 else 10}"


# What, workload and side of the numerator and of the denominator, and the ratio wanted.
targets = [
    ("full covariance, D = 2, against scikit-learn", (gmm("full", 2), "sklearn"), (gmm("full", 2), "latent"), 10),
    ("full covariance, D = 10", (gmm("full", 10), "sklearn"), (gmm("full", 10), "latent"), 8),
    ("full covariance, D = 50", (gmm("full", 50), "sklearn"), (gmm("full", 50), "latent"), 2),
    ("diagonal, D = 2", (gmm("diag", 2), "sklearn"), (gmm("diag", 2), "latent"), 5),
    ("diagonal, D = 10", (gmm("diag", 10), "sklearn"), (gmm("diag", 10), "latent"), 5),
    ("diagonal, D = 50", (gmm("diag", 50), "sklearn"), (gmm("diag", 50), "latent"), 5),
] + [
    (what, (f"gmm table={table}", "sklearn"), (f"gmm table={table}", "latent"), 8)
    for what, table in (
        ("full covariance, D = 50, K = 100 clear components", "clear cov=full d=50 k=100 n=100000 iterations=2"),
        ("full covariance, D = 50, K = 40 overlapping components", "overlapping cov=full d=50 k=40 n=60000 iterations=4"),
        ("full covariance, D = 300", "wide cov=full d=300 k=10 n=20000 iterations=2"),
        ("tied covariance, D = 300", "wide cov=tied d=300 k=20 n=20000 iterations=4"),
    )
]
for own, tolerance in ("latent", "default tolerance"), ("latent:tol=1e-5", "--tol 1e-5"):
    targets += [
        (f"choosing K, table {table}, {tolerance}, against {text}", (f"choose seed={table}", peer), (f"choose seed={table}", own), least)
        for table in (1, 2, 3)
        for peer, text, least in (
            ("sklearn:method=bic", "scikit-learn's BIC sweep", 10),
            ("sklearn:method=bayes", "BayesianGaussianMixture(20)", 50),
            ("mclust", "mclust", 50),
        )
    ]
dense, mle = "bernoulli table=dense iterations=10", "sklearn:method=mle"
targets += [
    ("Bernoulli, dense, against NumPy", (dense, "numpy"), (dense, "latent"), 3),
    ("BPCA, 1,000,000 × 30, all K, against PCA('mle')", ("bpca table=factors30", mle), ("bpca table=factors30", "latent"), 1),
    ("BPCA, 5,000 × 1,000, all K, against PCA('mle')", ("bpca table=factors1000", mle), ("bpca table=factors1000", "latent"), 1),
    ("factor analysis, 100,000 × 30, K = 0 to 10, against scikit-learn", ("factor table=analysis", "sklearn"), ("factor table=analysis", "latent"), 20),
    ("factor analysis, 100,000 × 30, K = 0 to 10, against R's factanal", ("factor table=analysis", "factanal"), ("factor table=analysis", "latent"), 20),
    ("VBMF, 1,000 × 3,000, against numpy.linalg.svd", ("vbmf", "numpy"), ("vbmf", "latent"), 1),
] + [
    (f"two workers against one, full covariance, D = {d}", (gmm("full", d), "latent:workers=1"), (gmm("full", d), "latent"), 1.9)
    for d in (10, 50)
]

print("\n| target | wanted | measured | |")
print("| --- | --- | --- | --- |")


def verdict(what, wanted, measured, reached):
    print(f"| {what} | {wanted} | {measured} | {'reached' if reached else '**not reached**'} |")


one = [
    (what.removesuffix(", against scikit-learn") + ", one thread each", (a[0], a[1] + ":workers=1"), (b[0], b[1] + ":workers=1"), least)
    for what, a, b, least in targets
    if b[1] == "latent" and a[1] in ("sklearn", "numpy") and a[0] != "vbmf"
]
for what, numerator, denominator, least in targets + one:
    a, b = median(*numerator), median(*denominator)
    if a and b:
        verdict(what, f"{least} times", f"{a / b:.3g} times", a / b >= least)
for side in ("latent", "latent:tol=1e-5"):
    for seed in (1, 2, 3):
        for found in dict.fromkeys(r["found"] for r in runs.get(f"choose seed={seed}", {}).get(side, [])):
            verdict(f"the right K, table {seed}, {side.replace(':', ' ')}", "6", found, found.startswith("K = 6 "))
lists = [median(f"bernoulli table=sparse{percent} iterations=10", "latent:sparse=1") for percent in (1, 2, 4)]
if all(lists):
    verdict("sparse rows: time of 2 % and 4 % of ones over that of 1 %", "at most 2 and 4", f"{lists[1] / lists[0]:.3g} and {lists[2] / lists[0]:.3g}", lists[1] <= 2.1 * lists[0] and lists[2] <= 4.2 * lists[0])
for what, workload in [(f"full covariance, 200,000 × {d}", gmm("full", d)) for d in (2, 10, 50)] + [("Bernoulli, 50,000 × 200", dense)]:
    rs = runs.get(workload, {}).get("latent")
    if rs and rs[0]["peak_bytes"]:
        beside = max(r["peak_bytes"] - r["data_bytes"] for r in rs) / 2**20
        verdict(f"peak memory beside the data, {what}", "64 MiB", f"{beside:.0f} MiB", beside <= 64)
for side, rs in runs.get("allocations", {}).items():
    verdict(f"allocations, {side.replace(':', ' ')}", "0 an iteration", rs[0]["found"], float(rs[0]["found"].split()[0]) < 0.1)
