#!/bin/sh
# One night: scores the rows of a day by the model of the night before, says whether they are unlike those of its fit, and
# fits that model to all days so far.
#
#     sh every_night.sh DAY.csv [FOLDER [FLAG …]]
#
# Flags are those of the first fit, such as --drop COL; later ones have what its model keeps. FOLDER, nightly by default, keeps the days, their scores, a page and a drift.json for each, and the models. A model is
# named by its checksum. versions.txt has a line for each night: the day and its model, of which the last is in use. What
# fails ends the script and leaves the version in use as it was.
set -eu

day=$1
folder=${2:-nightly}
if [ $# -gt 2 ]; then shift 2; else shift $#; fi
name=$(basename "$day" .csv)
mkdir -p "$folder/days" "$folder/models" "$folder/scores" "$folder/drift"
fit="$folder/models/new.json"
rm -f "$fit"

if [ -f "$folder/versions.txt" ]; then
	model="$folder/models/$(tail -n 1 "$folder/versions.txt" | cut -d' ' -f2).json"
	status=0
	latent predict --quiet "$model" --data "$day" --out "$folder/scores/$name.csv" \
		--report "$folder/drift/$name" --fail-on-drift 2>"$folder/drift.txt" || status=$?
	case $status in
	0) echo "$name: rows like those of the fit" ;;
	3) echo "$name: see $folder/drift/$name/index.html" ;;
	*) cat "$folder/drift.txt" >&2 && exit "$status" ;;
	esac
	cp "$day" "$folder/days/$name.csv"
	latent fit --quiet --from "$model" --data "$folder/days/*.csv" --out "$fit" >"$folder/fit.txt"
	sed -n '/^Components now and then/,/^$/p' "$folder/fit.txt"
else
	cp "$day" "$folder/days/$name.csv"
	latent fit --quiet --data "$folder/days/*.csv" --out "$fit" "$@" >"$folder/fit.txt"
	echo "$name: the first night"
	grep '^chosen K' "$folder/fit.txt"
fi

version=$(tail -c 66 "$fit" | cut -c1-64)
mv "$fit" "$folder/models/$version.json"
echo "$name $version" >>"$folder/versions.txt"
