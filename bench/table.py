#!/usr/bin/env python3
"""Makes a Markdown table of the measurements of run.sh: medians, and ratios of medians."""

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
    for name in ("numpy", "scipy", "sklearn", "pandas"):
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
print("| workload | program | median | least to most, runs | times this project's | peak memory beside the data, MiB | what it found |")
print("| --- | --- | --- | --- | --- | --- | --- |")
for workload, sides in runs.items():
    first = next((statistics.median(r["seconds"] for r in rs) for side, rs in sides.items() if side.startswith("latent")), None)
    for side, rs in sides.items():
        times = [r["seconds"] for r in rs]
        ratio = f"{statistics.median(times) / first:.2f}" if first else ""
        beside = max(r["peak_bytes"] - r["data_bytes"] for r in rs) / 2**20
        found = "; ".join(dict.fromkeys(r["found"] for r in rs))
        print(
            f"| {workload} | {side.replace(':', ' ')} | {seconds(statistics.median(times))} | {seconds(min(times))} to {seconds(max(times))}, {len(times)} "
            f"| {ratio} | {beside:.0f} | {found} |".replace("|  |", "| |")
        )
