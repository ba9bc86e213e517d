# Runs one workload with mclust, pcaMethods or factanal, and prints one line of JSON.
#
#     Rscript peer.R DIR SIDE WORKLOAD KEY=VALUE...
#
# The counterpart of bench/latent; docs/benchmarks.md says what is measured.

words <- commandArgs(trailingOnly = TRUE)
directory <- words[1]; workload <- words[3]
options <- list()
for (word in words[-(1:3)]) {
  parts <- strsplit(word, "=")[[1]]
  options[[parts[1]]] <- parts[2]
}

if (workload == "choose") {
  suppressPackageStartupMessages(library(mclust))
  x <- as.matrix(read.csv(file.path(directory, paste0("choice", options$seed, ".csv")), header = FALSE))
  set.seed(1) # its start is hierarchical, on a sample of 2000 rows by default
  seconds <- system.time(fit <- Mclust(x, G = 1:20, modelNames = "VVV", verbose = FALSE))[["elapsed"]]
  found <- sprintf("K = %d", fit$G)
} else if (workload == "bpca") {
  suppressPackageStartupMessages(library(pcaMethods))
  x <- as.matrix(read.csv(file.path(directory, paste0(options$table, ".csv")), header = FALSE))
  # Variational Bayes (Oba et al. 2003) at the largest K, whose useless components it shrinks.
  seconds <- system.time(fit <- pca(x, method = "bpca", nPcs = ncol(x) - 1, verbose = FALSE))[["elapsed"]]
  found <- sprintf("%d components", fit@nPcs)
} else if (workload == "factor") {
  x <- as.matrix(read.csv(file.path(directory, paste0(options$table, ".csv")), header = FALSE))
  failed <- 0
  seconds <- system.time(for (k in 1:10) {
    fit <- try(factanal(x, k, scores = "none"), silent = TRUE)
    if (inherits(fit, "try-error")) failed <- failed + 1
  })[["elapsed"]]
  found <- sprintf("no K is chosen; %d of 10 fits failed", failed)
} else {
  stop("no such workload in R: ", workload)
}
cat(sprintf('{"seconds": %.6f, "found": "%s", "data_bytes": %d, "peak_bytes": 0}\n', seconds, found, 8 * length(x)))
