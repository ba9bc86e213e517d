# Fits, reads the model and predicts, by the command latent and the package jsonlite.
#
#     Rscript fit_and_predict.R [latent]

library(jsonlite)

arguments <- commandArgs(trailingOnly = TRUE)
command <- if (length(arguments)) arguments[1] else "latent"

# latent runs the command and returns its standard output; what it cannot do is an error.
latent <- function(...) {
  out <- tempfile()
  err <- tempfile()
  status <- system2(command, shQuote(c(...)), stdout = out, stderr = err)
  if (status != 0) stop(paste(readLines(err), collapse = "\n"))
  paste(readLines(out, encoding = "UTF-8"), collapse = "\n")
}

# Fit: the report as JSON on standard output, the model in a file. The frame goes as CSV. R removes its temporary files when it ends.
table <- tempfile(fileext = ".csv")
geyser <- tempfile(fileext = ".json")
write.csv(faithful, table, row.names = FALSE)
fit <- fromJSON(latent("fit", "--data", table, "--out", geyser, "--format", "json"))
cat(fit$k, "components, BIC as R has it:", format(-2 * fit$bic, nsmall = 1), "smaller is better\n")

# Read: pro, mean and sigma as mclust has them, of full covariances.
params <- fromJSON(geyser)$params
d <- params$d
numbers <- matrix(params$components, nrow = d + d * d) # a column for each component
pro <- params$weights
mean <- numbers[1:d, , drop = FALSE]
sigma <- array(numbers[-(1:d), ], c(d, d, params$k))
for (k in seq_len(params$k)) {
  cat(sprintf("weight %.3f, mean %.2f %.2f, variances %.3f %.2f\n", pro[k], mean[1, k], mean[2, k], sigma[1, 1, k], sigma[2, 2, k]))
}

# Predict: a data frame.
new <- data.frame(eruptions = c(1.9, 4.4, 3.1), waiting = c(52, 81, 68))
write.csv(new, table, row.names = FALSE)
answer <- read.csv(text = latent("predict", geyser, "--data", table))
for (i in seq_len(nrow(new))) {
  cat(new$eruptions[i], new$waiting[i], "component", answer$label[i], sprintf("%.4f %.3f\n", answer$probability[i], answer$log_likelihood[i]))
}

# The numbers are all that the density needs.
density <- sapply(seq_len(params$k), function(k) {
  y <- unlist(new[3, ]) - mean[, k]
  exp(-sum(y * solve(sigma[, , k], y)) / 2) / (2 * pi * sqrt(det(sigma[, , k])))
})
stopifnot(abs(log(sum(pro * density)) - answer$log_likelihood[3]) < 1e-9)
