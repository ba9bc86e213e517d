package data

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
)

func TestDatasetsAreWhatTheyAreSaidToBe(t *testing.T) {
	readme, err := os.ReadFile("embedded/README.md")
	require.NoError(t, err)
	files, err := embedded.ReadDir("embedded")
	require.NoError(t, err)
	require.Len(t, files, len(Datasets()))
	for _, d := range Datasets() {
		t.Run(d.Name, func(t *testing.T) {
			table, err := Load(d.Name)
			require.NoError(t, err)
			requireConsistent(t, table)
			require.Equal(t, []int{d.Rows, d.Cols}, []int{table.Rows(), table.Cols()})
			if d.Label != "" {
				require.NotNil(t, table.Levels(d.Label))
			}
			found, ok := Lookup(d.Name)
			require.True(t, ok)
			require.Equal(t, d, found)

			compressed, err := embedded.Open("embedded/" + d.Name + ".csv.gz")
			require.NoError(t, err)
			plain, err := gzip.NewReader(compressed)
			require.NoError(t, err)
			content, err := io.ReadAll(plain)
			require.NoError(t, err)
			sum := sha256.Sum256(content)
			require.Equal(t, d.SHA256, hex.EncodeToString(sum[:]))
			require.True(t, bytes.Contains(readme, []byte(d.SHA256)))
		})
	}
}

func TestDatasetFacts(t *testing.T) {
	iris, err := Load("iris")
	require.NoError(t, err)
	for name, mean := range map[string]float64{"Sepal.Length": 5.843333, "Sepal.Width": 3.057333, "Petal.Length": 3.758, "Petal.Width": 1.199333} {
		x, err := iris.Column(name) // means as R prints them
		require.NoError(t, err)
		require.InDelta(t, mean, stat.Mean(x, nil), 5e-7, name)
	}
	require.Equal(t, []string{"setosa", "versicolor", "virginica"}, iris.Levels("Species"))

	karate, err := Load("karate")
	require.NoError(t, err)
	degrees := map[float64]int{}
	for _, side := range karate.Names {
		nodes, err := karate.Column(side)
		require.NoError(t, err)
		for _, node := range nodes {
			degrees[node]++
		}
	}
	require.Len(t, degrees, 34)
	require.Equal(t, []int{16, 9, 10, 12, 17}, []int{degrees[1], degrees[2], degrees[3], degrees[33], degrees[34]}) // Zachary's matrix E

	votes, err := Load("housevotes84")
	require.NoError(t, err)
	require.Equal(t, []string{"republican", "democrat"}, votes.Levels("Class"))
	democrats, missing := 0, 0
	for _, code := range votes.Codes("Class") {
		democrats += int(code)
	}
	for _, name := range votes.Names[1:] {
		require.ElementsMatch(t, []string{"n", "y"}, votes.Levels(name))
		for _, code := range votes.Codes(name) {
			if code == missingCode {
				missing++
			}
		}
	}
	require.Equal(t, 267, democrats)
	require.Equal(t, 392, missing)
	complete, left := dropMissing(t, votes)
	require.Equal(t, []int{232, 203}, []int{complete.Rows(), left})

	satellite, err := Load("satellite")
	require.NoError(t, err)
	require.Len(t, satellite.Levels("classes"), 6)
	pixels, err := satellite.Drop("classes")
	require.NoError(t, err)
	x, rows, cols, err := pixels.Matrix()
	require.NoError(t, err)
	require.Equal(t, []int{6435, 36}, []int{rows, cols})
	require.Same(t, &satellite.flat[0], &x[0])
}

// TestZooFacts compares with the description that came with the original file, zoo.names.
func TestZooFacts(t *testing.T) {
	zoo, err := Load("zoo")
	require.NoError(t, err)
	animals := map[string]int{}
	for _, code := range zoo.Codes("type") {
		animals[zoo.Levels("type")[code]]++
	}
	require.Equal(t, map[string]int{"mammal": 41, "bird": 20, "reptile": 5, "fish": 13, "amphibian": 4, "insect": 8, "mollusc.et.al": 10}, animals)
	legs, err := zoo.Column("legs")
	require.NoError(t, err)
	slices.Sort(legs)
	require.Equal(t, []float64{0, 2, 4, 5, 6, 8}, slices.Compact(legs))
	for j, kind := range zoo.Kinds() {
		name := zoo.Names[j]
		if name == "legs" {
			require.Equal(t, Count, kind)
			continue
		}
		require.Equal(t, Categorical, kind)
		if name != "type" {
			require.ElementsMatch(t, []string{"FALSE", "TRUE"}, zoo.Levels(name))
		}
	}
	_, left := dropMissing(t, zoo)
	require.Zero(t, left)
}

func TestLoadListsTheKnownNames(t *testing.T) {
	_, err := Load("../go.mod")
	require.EqualError(t, err, `no embedded data set "../go.mod"; there are "bars", "crabs", "earthquakes", "faithful", "geyser", "housevotes84", "iris", "karate", "NOdata", "NPreg", "ruspini", "satellite", "tonedata", "zoo"`)
	_, ok := Lookup("")
	require.False(t, ok)
}

func TestDatasetsCannotBeChangedByCallers(t *testing.T) {
	Datasets()[0].Name = "changed"
	require.Equal(t, "bars", Datasets()[0].Name)
}
