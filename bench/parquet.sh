#!/usr/bin/env bash
# Reads Parquet files of 300,000 rows and 20 columns, as pyarrow writes them, with this project and with pyarrow: least
# processor time of reading alone, in ms, of processes by turns, with one thread: of the first reading of a process, and
# of the least of ten.
#
#     bench/parquet.sh DIR              # DIR keeps the files, 400 MB
#     REPEAT=20 bench/parquet.sh DIR    # so many turns (5)
#
# It needs Go and Python 3 with NumPy and pyarrow.
set -euo pipefail

[ $# = 1 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")"
python=${PYTHON:-python3}
go build -o "$out/latent" ./latent
"$python" - "$out" <<'PYTHON'
import os
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

os.chdir(sys.argv[1])
rng = np.random.default_rng(1)
rows, columns = 300_000, 20
x = rng.standard_normal((columns, rows))


def write(name, column, **options):
    table = pa.table({f"x{j}": column(x[j]) for j in range(columns)})
    pq.write_table(table, name + ".parquet", **options)


write("doubles", pa.array)
write("plain", pa.array, use_dictionary=False, compression="none")
write("plain-snappy", pa.array, use_dictionary=False)
write("plain-zstd", pa.array, use_dictionary=False, compression="zstd")
write("dictionary", lambda v: np.round(v, 2))
write("split-zstd", pa.array, use_dictionary=False, use_byte_stream_split=True, compression="zstd")
write("integers", lambda v: rng.integers(0, 10**9, rows), use_dictionary=False)
write("float32", lambda v: v.astype(np.float32), use_dictionary=False)
write("nulls", lambda v: pa.array(v, mask=rng.random(rows) < 0.05), use_dictionary=False)
PYTHON
for file in doubles plain plain-snappy plain-zstd dictionary split-zstd integers float32 nulls; do
	for _ in $(seq "${REPEAT:-5}"); do
		for again in 1 10; do
			job=(read format=parquet clock=processor workers=1 "file=$file" again=$again)
			echo "$file latent$again $("$out/latent" "$out" "${job[@]}")"
			echo "$file columns$again $("$python" peers/peer.py "$out" pyarrow "${job[@]}" columns=1)"
			echo "$file rows$again $("$python" peers/peer.py "$out" pyarrow "${job[@]}")"
		done
	done
done | "$python" -c '
import json
import sys

import pyarrow

least = {}
for line in sys.stdin:
    file, side, run = line.split(" ", 2)
    seconds = json.loads(run)["seconds"]
    sides = least.setdefault(file, {})
    sides[side] = min(sides.get(side, seconds), seconds)
head = f"latent | pyarrow {pyarrow.__version__}, columns | ratio | rows"
print(f"| file | first: {head} | of ten: {head} |")
print("|" + " --- |" * 9)
for file, s in least.items():
    cells = [file]
    for again in ("1", "10"):
        latent, columns, rows = (1000 * s[side + again] for side in ("latent", "columns", "rows"))
        cells += [f"{latent:.0f}", f"{columns:.0f}", f"{latent / columns:.2f}", f"{rows:.0f}"]
    print("| " + " | ".join(cells) + " |")
'
