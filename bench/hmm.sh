#!/usr/bin/env bash
# Times iterations of hidden Markov models beside hmmlearn, by turns, each in a process of its own, on one thread: processor time.
#
#     bench/hmm.sh DIR         # DIR keeps the data and the measurements
#     STEPS=1000000 bench/hmm.sh DIR   # the length of the long sequence, 10,000,000
#
# It needs Go, and Python 3 with hmmlearn (pip install hmmlearn); PYTHON names it. REPEAT is the number of rounds (3).
set -euo pipefail

[ $# = 1 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")"
python=${PYTHON:-/usr/bin/python3}
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
go build -o "$out/hmm" ./hmm
: >"$out/results.jsonl"

# turns STATES STEPS LENGTH ITERATIONS ROUNDS
turns() {
	for _ in $(seq "$5"); do
		"$out/hmm" "$out/data" "$1" "$2" "$3" "$4"
		for implementation in scaling log; do
			"$python" peers/hmm.py "$out/data" "$1" "$2" "$3" "$4" "$implementation"
		done
	done | tee -a "$out/results.jsonl"
	rm "$out/data"
}

for states in 4 10; do
	turns "$states" 200000 100 5 "${REPEAT:-3}"
	turns "$states" 200000 200000 5 "${REPEAT:-3}"
done
for states in 4 10; do
	turns "$states" "${STEPS:-10000000}" "${STEPS:-10000000}" 2 1
done
