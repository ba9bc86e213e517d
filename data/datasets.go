package data

import (
	"bytes"
	"embed"
	"fmt"
	"slices"
)

//go:embed embedded/*.csv.gz
var embedded embed.FS

// Dataset describes an embedded data set. embedded/README.md gives its source in full.
type Dataset struct {
	Name       string // for [Load]
	Title      string // one line that says what the rows are
	Source     string // citation
	License    string
	Rows, Cols int
	Label      string // the column of known classes; "" if there is none
	SHA256     string // hash of the uncompressed CSV, hexadecimal
}

var datasets = []Dataset{
	{
		Name: "bars", Rows: 4903, Cols: 3,
		Title: "Simulated documents, words and counts: words are the cells of a 5×5 grid, and the ten topics its " +
			"rows and columns",
		Source:  "simulated by models/topics/bars_test.go, after Griffiths & Steyvers (2004), PNAS 101, 5228–5235",
		License: "that of latent",
		SHA256:  "7a51490d26350d9b0b6a7c97d10afd87c550206f486c2d481ad211a8f94e660f",
	},
	{
		Name: "crabs", Rows: 200, Cols: 6, Label: "class",
		Title:   "Rock crabs of two colours and both sexes: five lengths of the body, mm",
		Source:  "Campbell & Mahon (1974), Australian Journal of Zoology 22, 417–425; as in R's MASS",
		License: "published data, distributed with R's MASS (GPL-2 | GPL-3)",
		SHA256:  "844b9e86c34f3fb839317b918ba6e77a25af802090694f0fd766f69bc09f3bc2",
	},
	{
		Name: "earthquakes", Rows: 107, Cols: 2,
		Title:   "Earthquakes of magnitude 7 and above in each year from 1900 to 2006, in order of time",
		Source:  "Zucchini & MacDonald (2009), Hidden Markov Models for Time Series, table 1.1",
		License: "published data",
		SHA256:  "4c4b1d822fd6e568f2a40c3f0dd81e889e0179b2bded049b52960609d792a4df",
	},
	{
		Name: "faithful", Rows: 272, Cols: 2,
		Title:   "Eruptions of the Old Faithful geyser: duration and waiting time, minutes",
		Source:  "Azzalini & Bowman (1990), Applied Statistics 39, 357–365; as in R's datasets",
		License: "published data, distributed with R (GPL-2 | GPL-3)",
		SHA256:  "d40b983752ab7ec0b15b740089c3ca7b7b59d0c7433a029a1714d134de1e8d14",
	},
	{
		Name: "geyser", Rows: 299, Cols: 2,
		Title:   "Eruptions of the Old Faithful geyser in August 1985, in order of time: waiting time and duration, minutes",
		Source:  "Azzalini & Bowman (1990), Applied Statistics 39, 357–365; as in R's MASS",
		License: "published data, distributed with R's MASS (GPL-2 | GPL-3)",
		SHA256:  "c0242cb451b2e689eaa167eb128dc0a0bd13d7edcef7ce7b8325947e6ad2cfdc",
	},
	{
		Name: "housevotes84", Rows: 435, Cols: 17, Label: "Class",
		Title:   "Votes of the U.S. House of Representatives in 1984: 16 key votes, y or n, with gaps",
		Source:  "Schlimmer (1987), Congressional Voting Records, UCI Machine Learning Repository; as in R's mlbench",
		License: "CC BY 4.0",
		SHA256:  "d7dd42845cb337d535ad8af924856fcbece99424286b4078521535ab4f6b7974",
	},
	{
		Name: "iris", Rows: 150, Cols: 5, Label: "Species",
		Title:   "Iris flowers of three species: lengths and widths of sepals and petals, cm",
		Source:  "Anderson (1935), Bull. Am. Iris Soc. 59, 2–5; Fisher (1936), Ann. Eugenics 7, 179–188; as in R's datasets",
		License: "published data, distributed with R (GPL-2 | GPL-3)",
		SHA256:  "6c17bdaf4419befba3352385793b1518e23e8fe1f76501e0850b573dc908d1e8",
	},
	{
		Name: "karate", Rows: 78, Cols: 2,
		Title:   "Friendships between the 34 members of a karate club that split: the edges of a graph",
		Source:  "Zachary (1977), Journal of Anthropological Research 33, 452–473; as in R's igraph",
		License: "published data, distributed with R's igraph (GPL-2 or later)",
		SHA256:  "b07197093aa2bce2862ee1f0292b7ac95430b47d94c151ae5685017c4d6d0ff8",
	},
	{
		Name: "NOdata", Rows: 88, Cols: 2,
		Title:   "Exhaust of an engine run on ethanol: nitrogen oxides, and the ratio of fuel to air",
		Source:  "Brinkman (1981), SAE Transactions 90, 1410–1424; as in R's mixtools",
		License: "published data, distributed with R's mixtools (GPL-2 | GPL-3)",
		SHA256:  "84a238c7a4ac6975bed193e4487c6e7a456fee465eb37988e2fc3be813ed263a",
	},
	{
		Name: "NPreg", Rows: 200, Cols: 5, Label: "class",
		Title:   "Simulated regressions of two classes on x: normal, Poisson and binomial responses",
		Source:  "Grün & Leisch (2007), Computational Statistics & Data Analysis 51, 5247–5252; as in R's flexmix",
		License: "simulated data, distributed with R's flexmix (GPL-2 | GPL-3)",
		SHA256:  "1cc19c49a4812bda9169049180a75ac8dc368db96a2827f9bbb6d5ed7d0b6ca5",
	},
	{
		Name: "ruspini", Rows: 75, Cols: 2,
		Title:   "Points of the plane in four groups, made to test clustering",
		Source:  "Ruspini (1970), Information Sciences 2, 319–350; as in R's cluster",
		License: "published data, distributed with R's cluster (GPL-2 | GPL-3)",
		SHA256:  "b7e0f8feb45c4a410406ed956a3b2266fd086a4630b0fd2cbce9ebcf69fce453",
	},
	{
		Name: "satellite", Rows: 6435, Cols: 37, Label: "classes",
		Title:   "Landsat pixels of six soils: four spectral bands in 3×3 neighbourhoods, 0 to 255",
		Source:  "Srinivasan (1993), Statlog (Landsat Satellite), UCI Machine Learning Repository; as in R's mlbench",
		License: "CC BY 4.0",
		SHA256:  "3f92b8b64f70d4a8d6335d148b135cf6e362c4c6530581f45b9deedf60240303",
	},
	{
		Name: "tonedata", Rows: 150, Cols: 2,
		Title:   "Tones as a musician tuned them, for overtones that are stretched",
		Source:  "Cohen (1984), Music Perception 1, 323–349; as in R's mixtools",
		License: "published data, distributed with R's mixtools (GPL-2 | GPL-3)",
		SHA256:  "26836b79ef5047b00bd17fdbe707a4c63a599e8b578a97d04abf15e8797432f9",
	},
	{
		Name: "zoo", Rows: 101, Cols: 17, Label: "type",
		Title:   "Animals of seven types: 15 traits, TRUE or FALSE, and the number of legs",
		Source:  "Forsyth (1990), Zoo, UCI Machine Learning Repository; as in R's mlbench",
		License: "CC BY 4.0",
		SHA256:  "4aab0f6fbe1fbf3e15d72a1801d05e4411d80599d1d84777ce81b369ccdc64e4",
	},
}

// Datasets lists the embedded data sets by name.
func Datasets() []Dataset { return slices.Clone(datasets) }

// Lookup finds the description of an embedded data set.
func Lookup(name string) (Dataset, bool) {
	i := slices.IndexFunc(datasets, func(d Dataset) bool { return d.Name == name })
	if i < 0 {
		return Dataset{}, false
	}
	return datasets[i], true
}

// Load reads an embedded data set, anew each time. It returns an error if there is no data set of that name.
func Load(name string) (*Table, error) {
	if _, ok := Lookup(name); !ok {
		names := make([]string, len(datasets))
		for i, d := range datasets {
			names[i] = d.Name
		}
		return nil, fmt.Errorf("no embedded data set %q; there are %s", name, quotedList(names))
	}
	compressed, err := embedded.ReadFile("embedded/" + name + ".csv.gz")
	if err != nil {
		return nil, err
	}
	return Read(bytes.NewReader(compressed), CSVOptions{})
}
