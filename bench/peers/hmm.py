"""Times iterations of EM of hmmlearn on what bench/hmm has written.

    hmm.py FILE STATES STEPS LENGTH ITERATIONS IMPLEMENTATION
"""
import json
import logging
import resource
import sys
import time
import warnings

import numpy as np
from hmmlearn.hmm import GaussianHMM

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
file, (k, steps, length, iterations) = sys.argv[1], map(int, sys.argv[2:6])
data = np.fromfile(file)
means, x = data[: 3 * k].reshape(k, 3), data[3 * k :].reshape(-1, 3)
model = GaussianHMM(k, covariance_type="diag", n_iter=iterations, tol=-np.inf, init_params="", implementation=sys.argv[6],
                    covars_prior=0, covars_weight=1)
model.startprob_ = np.full(k, 1 / k)
model.transmat_ = np.full((k, k), 0.1 / (k - 1)) + np.eye(k) * (0.9 - 0.1 / (k - 1))
model.means_, model.covars_ = means, np.ones((k, 3))
lengths = [length] * (steps // length)
begin = time.process_time()
model.fit(x, lengths)
seconds = time.process_time() - begin
most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"program": "hmmlearn " + sys.argv[6], "states": k, "steps": steps, "length": length,
                  "nanoseconds a step": 1e9 * seconds / iterations / steps, "log-likelihood": model.score(x, lengths),
                  "megabytes beside the data": most / 1024 - x.nbytes / 2**20}))
