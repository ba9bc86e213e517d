#!/usr/bin/env bash
# Fits and predicts a table four times as large as the memory that it may take, and says how much it took.
#
#     bench/larger-than-memory.sh DIR           # DIR keeps the table, 1.1 GB, and what is made of it
#     ROWS=4000000 bench/larger-than-memory.sh DIR
#
# It needs Go, Python 3 with NumPy, and Linux. DATA is the limit of ulimit -d in kB, 262144 by default, of which the Go runtime takes about 100 MB for itself.
set -euo pipefail

[ $# = 1 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")"
go -C .. build -o "$out/latent" ./cmd/latent
rows=${ROWS:-13500000}
"${PYTHON:-python3}" - "$rows" "$out/table.npy" <<'PYTHON'
import sys
import numpy as np

rows, path = int(sys.argv[1]), sys.argv[2]
rng = np.random.default_rng(1)
centres = 1.5 * rng.normal(size=(5, 10))
x = np.lib.format.open_memmap(path, "w+", "<f8", (rows, 10))
for a in range(0, rows, 200_000):
    n = min(200_000, rows - a)
    x[a : a + n] = centres[rng.integers(5, size=n)] + rng.normal(size=(n, 10))
PYTHON
ulimit -d "${DATA:-262144}"
cd "$out"

# measure WORDS: the anonymous memory of the command at its highest, looked at ten times a second.
measure() {
	./latent --memory 100MB "$@" >/dev/null &
	local process=$! now peak=0
	while now=$(awk '/^RssAnon/ { print $2 }' "/proc/$process/status" 2>/dev/null) && [ -n "$now" ]; do
		[ "$now" -le "$peak" ] || peak=$now
		sleep 0.1
	done
	wait "$process"
	echo "$((peak / 1024)) MB: latent $*"
}
measure fit --method em --k 5 --restarts 1 --max-iter 5 --data table.npy --out model.json
measure predict model.json --data table.npy --out scores.parquet
measure fit --method em --k 3 --restarts 1 --max-iter 5 --select log_likelihood,p1,p2 --data scores.parquet --out second.json
measure predict second.json --data scores.parquet --out second.csv
