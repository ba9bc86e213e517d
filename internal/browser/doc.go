// Package browser holds the tests of the report pages in a real browser. It is a module of its own, so that the
// library depends on nothing that drives a browser.
//
// The tests build the command, let it write pages of every model, and open them in Chromium, several widths wide, in
// light and in dark mode. Where there is no Chromium they are skipped, with a notice; the rules of axe-core need
//
//	npm ci
//
// in this folder first. With LATENT_SCREENSHOTS=DIR they also write what they saw there, a picture for each page, width
// and mode, for somebody to look at.
package browser
