"""Times iterations of latent Dirichlet allocation of other programs on what bench/topics has written.

    topics.py DIR TOPICS WORDS DOCUMENTS ITERATIONS PROGRAM

PROGRAM is gensim, tomotopy or lda. The perplexity is that of the held-out half of the tokens of other documents, given the other half:
with the program's own way to the proportions of a document, and with the same way for all programs (EM of a document's proportions with
a Dirichlet prior, topics fixed, in the manner of CVB0).
"""
import json
import sys
import time
import warnings

import numpy as np

warnings.filterwarnings("ignore")
folder, (k, v, n, iterations), program = sys.argv[1], map(int, sys.argv[2:6]), sys.argv[6]
alpha, beta = 0.1, 0.05


def read(name):
    rows = {}
    for line in open(f"{folder}/{name}"):
        d, w, c = map(int, line.split())
        rows.setdefault(d, []).append((w, c))
    return [rows.get(d, []) for d in range(max(rows) + 1)]


train, observed, scored = read("train"), read("observed"), read("scored")
tokens = sum(c for row in train for _, c in row)


def dense(rows):
    x = np.zeros((len(rows), v), dtype=np.int64)
    for d, row in enumerate(rows):
        for w, c in row:
            x[d, w] = c
    return x


def run_gensim():
    import gensim

    begin = time.process_time()
    model = gensim.models.LdaModel(train, num_topics=k, id2word={w: str(w) for w in range(v)}, alpha=[alpha] * k, eta=beta, passes=iterations,
                                   chunksize=len(train), update_every=1, eval_every=None, decay=0.5, offset=1.0, random_state=1, dtype=np.float64)
    seconds = time.process_time() - begin
    gamma, _ = model.inference(observed)
    return gensim.__version__, seconds, model.get_topics(), gamma / gamma.sum(axis=1, keepdims=True)


def run_tomotopy():
    import tomotopy

    model = tomotopy.LDAModel(k=k, alpha=alpha, eta=beta, seed=1, rm_top=0, min_cf=0)
    model.optim_interval = 0
    for row in train:
        model.add_doc([str(w) for w, c in row for _ in range(c)])
    model.train(0, workers=1)
    begin = time.process_time()
    model.train(iterations, workers=1)
    seconds = time.process_time() - begin
    vocabulary = [int(w) for w in model.used_vocabs]
    counts = np.array([model.get_topic_word_dist(j, normalize=False) for j in range(k)])
    topics = np.full((k, v), beta)
    topics[:, vocabulary] = counts if counts.min() >= beta * 0.99 else counts + beta
    topics /= topics.sum(axis=1, keepdims=True)
    documents = [model.make_doc([str(w) for w, c in row for _ in range(c)]) for row in observed]
    theta, _ = model.infer(documents, iterations=200, workers=1)
    return tomotopy.__version__, seconds, topics, np.array(theta)


def run_lda():
    import logging
    from importlib.metadata import version

    import lda

    logging.getLogger("lda").setLevel(logging.ERROR)
    model = lda.LDA(n_topics=k, n_iter=iterations, alpha=alpha, eta=beta, random_state=1, refresh=10**9)
    x = dense(train)
    begin = time.process_time()
    model.fit(x)
    seconds = time.process_time() - begin
    return version("lda"), seconds, model.topic_word_, model.transform(dense(observed), max_iter=200)


def folded(topics):
    theta = np.zeros((len(observed), k))
    for d, row in enumerate(observed):
        if not row:
            theta[d] = 1 / k
            continue
        w, c = np.array(row).T
        q = topics[:, w].T / topics[:, w].T.sum(axis=1, keepdims=True)
        for _ in range(200):
            without = (c[:, None] * q).sum(axis=0) - q
            q = (alpha + without) * topics[:, w].T
            q /= q.sum(axis=1, keepdims=True)
        theta[d] = alpha + (c[:, None] * q).sum(axis=0)
    return theta / theta.sum(axis=1, keepdims=True)


def perplexity(topics, theta):
    logs = count = 0
    for d, row in enumerate(scored):
        if row:
            w, c = np.array(row).T
            logs += c @ np.log(theta[d] @ topics[:, w])
            count += c.sum()
    return float(np.exp(-logs / count))


release, seconds, topics, theta = {"gensim": run_gensim, "tomotopy": run_tomotopy, "lda": run_lda}[program]()
print(json.dumps({"program": f"{program} {release}", "topics": k, "words": v, "documents": n, "tokens": tokens, "iterations": iterations,
                  "nanoseconds a token and iteration": 1e9 * seconds / iterations / tokens, "seconds": seconds,
                  "perplexity": perplexity(topics, theta), "perplexity, folded in alike": perplexity(topics, folded(topics))}))
