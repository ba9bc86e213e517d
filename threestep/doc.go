// Package threestep relates the classes of rows to columns that had no part in finding them: outcomes that may follow
// from the class, and covariates that may say who is in which.
//
// The first step fits a model of classes X, and gives each row the probabilities p(X = t|x_n). The second assigns the
// rows to classes W: each to its most probable one ([Modal]), or to all in parts of these probabilities
// ([Proportional]). The third step takes W for the truth, and so finds classes that differ too little: rows in the
// wrong class make all of them more alike. How often that happens is known from the first step (Bolck, Croon &
// Hagenaars 2004; Vermunt 2010, eq. 6),
//
//	D_ts = P(W = s|X = t) = Σ_n w_n p(X = t|x_n) w_ns / Σ_n w_n p(X = t|x_n),
//
// where w_ns is the part of row n that W puts into class s, and w_n the row's weight. Two corrections use it:
//
//   - [BCH]: row n counts in class t with the weight b_nt = Σ_s w_ns (D⁻¹)_st. Weights may be negative; they sum to 1.
//     Estimates are then weighted means and logits (Vermunt 2010, section 3.2; Bakk, Tekle & Vermunt 2013, eq. 13).
//   - [ML]: the likelihood of what is observed is Σ_n w_n Σ_s w_ns ln Σ_t P(X = t) f(z_n|X = t) D_ts, with D as it is
//     (Vermunt 2010, section 3.3; Bakk, Tekle & Vermunt 2013, eq. 15). Outcomes need a distribution f within classes.
//
// [Uncorrected] estimates are for comparison.
//
//	c, err := threestep.Classify(posteriors, 3, nil, threestep.Modal)
//	means, err := c.Outcome(ctx, threestep.Outcome{Values: income}, threestep.BCH)
//	fmt.Println(means.Values, means.Errors(), means.Equal())
//	odds, err := c.Covariates(ages, 1, threestep.ML)
//
// # Standard errors
//
// They are those of the third step, with D as known and whatever the distribution within classes (White 1982): A⁻¹BA⁻¹
// of the information A and the sum B of squared scores of rows. The uncertainty of the first step comes on top of that
// (Bakk, Oberski & Vermunt 2014, eq. 9): the covariance of what the third step makes of other posteriors of the same
// rows, those of models as likely as the fitted one ([Estimates.AddFirstStep]).
//
// # Rows
//
// D is that of all rows. Rows without the outcome, or without one of the covariates, have no part in the third step
// alone: it takes them as missing at random given the class.
package threestep
