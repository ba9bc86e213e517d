#!/usr/bin/env bash
# Runs every workload with this project and with its peers, and writes a table.
#
#     bench/run.sh DIR                     # DIR keeps the data, the measurements and the table
#     SCALE=0.05 MEGABYTES=20 bench/run.sh DIR   # a quick look
#     ONLY='choose|vbmf' bench/run.sh DIR  # the workloads that match
#
# It needs Go and Python 3 with NumPy and scikit-learn (Debian: python3-sklearn); R with
# mclust (r-cran-mclust) and pcaMethods (r-bioc-pcamethods), SciPy, pandas and pyarrow take part
# where they are installed. The programs of a workload take turns, REPEAT times (3).
set -euo pipefail

[ $# = 1 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")"
python=${PYTHON:-/usr/bin/python3}
repeat=${REPEAT:-3}
limit=${LIMIT:-120} # seconds a run, after which it is stopped
go build -o "$out/latent" ./latent
scale="${SCALE:-1} ${MEGABYTES:-200}"
if [ "$(cat "$out/scale" 2>/dev/null)" != "$scale" ]; then
	go run ./workloads -out "$out/data" -scale "${SCALE:-1}" -megabytes "${MEGABYTES:-200}"
	echo "$scale" >"$out/scale"
fi
results=$out/results.jsonl
[ -n "${ONLY:-}" ] || : >"$results"

has() { "$python" -c "import $1" 2>/dev/null; }
hasr() { command -v Rscript >/dev/null && Rscript -e "quit(status = !requireNamespace('$1', quietly = TRUE))" >/dev/null 2>&1; }

# available SIDE: whether the program that a side stands for is at hand.
available() {
	case ${1%%:*} in
	latent) ;;
	numpy) has numpy ;;
	sklearn) has sklearn ;;
	scipy.sparse) has scipy.sparse ;;
	pandas) has pandas ;;
	pyarrow) has pyarrow ;;
	mclust | pcaMethods) hasr "${1%%:*}" ;;
	factanal) hasr stats ;;
	esac
}

# run WORKLOAD SIDE ROUND: one process, one line. SIDE is a program, a colon and options of its own.
run() {
	local workload side=${2%%:*} own=${2#*:} program line
	read -ra workload <<<"$1"
	[ "$own" != "$2" ] || own=
	case $side in
	latent) program=("$out/latent" "$out/data") ;;
	mclust | pcaMethods | factanal) program=(Rscript peers/peer.R "$out/data" "$side") ;;
	*) program=("$python" peers/peer.py "$out/data" "$side") ;;
	esac
	# shellcheck disable=SC2086 # options are words
	if line=$(timeout "$limit" "${program[@]}" "${workload[@]}" $own); then
		:
	elif [ $? = 124 ]; then
		line="{\"seconds\": $limit, \"found\": \"stopped: it takes longer\", \"data_bytes\": 0, \"peak_bytes\": 0}"
	else
		echo "left out: $1 with $2" >&2
		return 0
	fi
	printf '{"workload": "%s", "side": "%s", "round": %d, %s\n' "$1" "$2" "$3" "${line#\{}" | tee -a "$results"
}

# compare TIMES WORKLOAD SIDE...: the sides take turns.
compare() {
	local times=$1 workload=$2 side sides=()
	shift 2
	[[ "$workload" =~ ${ONLY:-.} ]] || return 0
	for side; do
		if available "$side"; then sides+=("$side"); fi
	done
	for ((i = 1; i <= times; i++)); do
		for side in "${sides[@]}"; do run "$workload" "$side" "$i"; done
	done
}

for cov in full diag; do
	compare "$repeat" "gmm cov=$cov d=2 k=10 n=200000 iterations=10" latent sklearn latent:workers=1 sklearn:workers=1
	compare "$repeat" "gmm cov=$cov d=10 k=10 n=200000 iterations=10" latent sklearn latent:workers=1 sklearn:workers=1
	compare "$repeat" "gmm cov=$cov d=50 k=10 n=200000 iterations=4" latent sklearn latent:workers=1 sklearn:workers=1
	# two iterations: there is nothing to do in a third
	compare "$repeat" "gmm table=clear cov=$cov d=50 k=100 n=100000 iterations=2" latent sklearn latent:workers=1 sklearn:workers=1
done
compare "$repeat" "gmm table=overlapping cov=full d=50 k=40 n=60000 iterations=4" latent sklearn latent:workers=1 sklearn:workers=1
compare "$repeat" "gmm table=wide cov=full d=300 k=10 n=20000 iterations=2" latent sklearn latent:workers=1 sklearn:workers=1
compare "$repeat" "gmm table=wide cov=full d=300 k=5 n=3000 iterations=2" latent sklearn latent:workers=1 sklearn:workers=1
compare "$repeat" "gmm table=wide cov=tied d=300 k=20 n=20000 iterations=4" latent sklearn latent:workers=1 sklearn:workers=1
# a fifth of the values missing, beside the complete table
for shape in "d=10 n=20000" "d=30 n=5000" "d=60 n=2000"; do
	for cov in full tied; do
		compare "$repeat" "gmm table=gaps cov=$cov $shape k=10 iterations=5" latent:workers=1 "latent:workers=1 gaps=20"
	done
done
# fits at the true K, from each program's own starts
for seed in 1 2 3; do
	compare 1 "ends table=overlapping d=50 k=40 iterations=15 seed=$seed" latent sklearn
	compare 1 "ends table=wide d=300 k=10 iterations=100 seed=$seed" latent sklearn
done
for seed in 1 2 3; do
	compare "$repeat" "choose seed=$seed" latent latent:tol=1e-5 sklearn:method=bic \
		latent:workers=1 "sklearn:method=bic workers=1"
done
compare "$repeat" "bernoulli table=dense iterations=10" latent numpy latent:workers=1 numpy:workers=1
for percent in 1 2 4; do
	compare "$repeat" "bernoulli table=sparse$percent iterations=10" latent:sparse=1 latent numpy scipy.sparse
done
compare "$repeat" "bpca table=factors30" latent sklearn:method=mle sklearn:method=full numpy:method=eigh
compare "$repeat" "bpca table=factors1000" latent sklearn:method=full numpy:method=eigh
compare "$repeat" "factor table=analysis" latent sklearn factanal
compare 1 "factor table=factors1000" latent sklearn latent:workers=1 sklearn:workers=1
compare "$repeat" "row d=50 k=20 rows=500" latent sklearn:workers=1
compare "$repeat" "vbmf" latent latent:rank=50 numpy
compare "$repeat" "start k=10" latent sklearn sklearn:sample=8192
compare "$repeat" "start k=40" latent sklearn sklearn:sample=8192
compare "$repeat" "read format=npy" latent numpy
compare "$repeat" "read format=csv" latent numpy pandas
compare "$repeat" "read format=parquet" latent:workers=1 pyarrow pyarrow:workers=1

# Growth with N and with K, from the case D = 10, K = 10, N = 200,000.
for n in 25000 50000 100000; do
	compare "$repeat" "gmm cov=full d=10 k=10 n=$n iterations=10" latent sklearn
done
for k in 5 20 40; do
	compare "$repeat" "gmm cov=full d=10 k=$k n=200000 iterations=4" latent sklearn
done
compare 1 "allocations" latent:workers=1 latent:workers=2

# Long ones, once.
compare 1 "choose seed=1" latent latent:tol=1e-5 mclust sklearn:method=bayes
compare 1 "bpca table=factors1000" latent sklearn:method=mle
compare 1 "bpca table=factors10" latent sklearn:method=mle pcaMethods

"$python" table.py "$results" | tee "$out/table.md"
