#!/usr/bin/env bash
# Times iterations of latent Dirichlet allocation beside tomotopy, lda and gensim, by turns, each in a process of its own, on one thread:
# processor time; and the perplexity of held-out words at equal α and β.
#
#     bench/topics.sh DIR         # DIR keeps the data and the measurements
#
# It needs Go, and Python 3 with tomotopy, lda and gensim (pip install tomotopy lda gensim); PYTHON names it. REPEAT is the number of
# rounds (3).
set -euo pipefail

[ $# = 1 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2; }
mkdir -p "$1/documents"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")"
python=${PYTHON:-/usr/bin/python3}
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
go build -o "$out/topics" ./topics
: >"$out/results.jsonl"

# turns TOPICS WORDS DOCUMENTS
turns() {
	for _ in $(seq "${REPEAT:-3}"); do
		"$out/topics" "$out/documents" "$@" 200
		"$python" peers/topics.py "$out/documents" "$@" 1000 tomotopy
		"$python" peers/topics.py "$out/documents" "$@" 1000 lda
		"$python" peers/topics.py "$out/documents" "$@" 50 gensim
	done | tee -a "$out/results.jsonl"
}

turns 10 2000 2000
turns 50 5000 4000
