package threestep_test

import (
	"encoding/csv"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/threestep"
)

// posteriors are three probabilities of each row of a file of testdata, and its other column.
func posteriors(t *testing.T, name string) (p, z []float64) {
	t.Helper()
	file, err := os.Open("testdata/" + name + ".csv")
	require.NoError(t, err)
	rows, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	require.NoError(t, file.Close())
	for _, row := range rows {
		for j, cell := range row {
			v, err := strconv.ParseFloat(cell, 64)
			require.NoError(t, err)
			if j < 3 {
				p = append(p, v)
			} else {
				z = append(z, v)
			}
		}
	}
	return p, z
}

// What StepMix 3.0.0 makes of the same posteriors, those of its own first step: its examples data_bakk_response and
// data_bakk_covariate (300 rows, sep_level 0.8, seed 42; Bakk & Kuha 2018) and the first outcome of
// data_gaussian_categorical (300 rows, seed 42), with n_steps=3, structural gaussian_diag (reg_covar 0), covariate
// (Newton-Raphson, 200 steps) and categorical, tolerances 1e-15. Numbers are as threestep has them: mean and standard
// deviation of each class, shares, and log odds against the first class.
//
// Two of its estimators are others. Its ML of an outcome holds the class sizes at those of the first step, where here
// they are estimated (Bakk, Tekle & Vermunt 2013): the numbers are those of its EM with sizes let free, one line. Its ML
// of proportional assignments has exp(Σ_s w_ns ln D_ts) for the classification error, within the sum over classes.
var stepMix = []struct {
	file string
	how  threestep.Assignment
	by   threestep.Correction
	want []float64
}{
	{"response", threestep.Modal, threestep.Uncorrected, []float64{0.7033445911917374, 1.1244280195884597, 0.1922691936200535, 0.9803931026245035, -0.3397688323770286, 1.2999065781813457}},
	{"response", threestep.Proportional, threestep.Uncorrected, []float64{0.6914172080783956, 1.1352336612191445, 0.2088766515630745, 0.991864950180679, -0.2713369406999703, 1.31601793405663}},
	{"response", threestep.Modal, threestep.BCH, []float64{0.998937130430317, 0.9415007783415242, 0.19008257103094406, 0.9329232683225017, -0.44310734989240574, 1.2841278055009866}},
	{"response", threestep.Proportional, threestep.BCH, []float64{1.0738381415672507, 0.8887872746365545, 0.17273308865472642, 0.8950354434889862, -0.47310927185667245, 1.286604409894314}},
	{"response", threestep.Modal, threestep.ML, []float64{0.9687535776500642, 1.0570316677277156, 0.20709761227794474, 0.9325095773439334, -0.4515545060126613, 1.2346302299700456}},
	{"categorical", threestep.Modal, threestep.Uncorrected, []float64{0.10843373493975979, 0.08433734939759101, 0.8072289156626502, 0.14482758620689695, 0.3999999999999998, 0.45517241379310347, 0.8194444444444439, 0.0833333333333341, 0.09722222222222389}},
	{"categorical", threestep.Proportional, threestep.Uncorrected, []float64{0.10888077557464165, 0.08273215144645404, 0.8083870729789044, 0.14449802582210022, 0.4009736543952689, 0.4545283197826316, 0.8112400210923763, 0.08338305701941098, 0.10537692188821317}},
	{"categorical", threestep.Modal, threestep.BCH, []float64{0.10149116062794658, 0.08266040924159994, 0.8158484301304525, 0.14455455251180396, 0.4010428947256868, 0.4544025527625094, 0.8194626092501031, 0.08332621428719479, 0.09721117646270064}},
	{"categorical", threestep.Proportional, threestep.BCH, []float64{0.10265660364749118, 0.07998250879419296, 0.8173608875583155, 0.14421223165270564, 0.4027484009719789, 0.45303936737531614, 0.818829154690809, 0.08295337611325629, 0.0982174691959341}},
	{"categorical", threestep.Modal, threestep.ML, []float64{0.10149116065801621, 0.08266040923883386, 0.8158484301031498, 0.1445545525097267, 0.4010428947266607, 0.45440255276361247, 0.819462609244165, 0.08332621428993679, 0.09721117646589926}},
	{"covariate", threestep.Modal, threestep.Uncorrected, []float64{2.8317237339928427, -1.0704137079303733, 1.9951527281539223, -0.5492919418918258}},
	{"covariate", threestep.Proportional, threestep.Uncorrected, []float64{1.995740373819987, -0.8735650660580416, 1.533187189492013, -0.43893749093598683}},
	{"covariate", threestep.Modal, threestep.BCH, []float64{4.94722920943876, -2.118307264497155, 2.791193888413477, -0.7754109126093}},
	{"covariate", threestep.Proportional, threestep.BCH, []float64{5.194727175951907, -2.209490735103235, 2.9923066137698036, -0.8314779002636401}},
	{"covariate", threestep.Modal, threestep.ML, []float64{5.650944988676104, -2.373805407026155, 3.2691951669890162, -0.891540196210223}},
}

func TestAgreesWithStepMix(t *testing.T) {
	for _, one := range stepMix {
		p, z := posteriors(t, one.file)
		c, err := threestep.Classify(p, 3, nil, one.how)
		require.NoError(t, err)
		var got []float64
		if one.file == "covariate" {
			g, err := c.Covariates(z, 1, one.by)
			require.NoError(t, err)
			got = g.Values
		} else {
			o := threestep.Outcome{Values: z}
			if one.file == "categorical" {
				o.Kind, o.Levels = threestep.Categorical, 3
			}
			d, err := c.Outcome(t.Context(), o, one.by)
			require.NoError(t, err)
			got = d.Values
		}
		assert.InDeltaSlice(t, one.want, got, 1e-6, "%s %v %v", one.file, one.how, one.by)
	}
}
