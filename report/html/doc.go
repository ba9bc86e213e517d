// Package html writes a report as one self-contained HTML page: figures as inline SVG, each with its numbers as a table
// beneath it, no network, no script but its own.
//
// A page follows the reader's light or dark mode, fits a phone, and reads well aloud: every
// figure has a title and a description, and what it draws is in a table. Marks show their
// values on hover, by a script of a few lines or, without it, by the browser's own tooltips. All text is
// escaped (html/template): names of columns may hold anything. The page's policy lets
// the browser load nothing and run that one script, which it knows by its hash.
//
// Figures are drawn by hand, and not by gonum/plot as those of module reproduce: their colours and texts are classes
// of the page's style sheet, so that they follow its modes, and their marks have tooltips. A mark with a coordinate
// that is not finite is omitted; a number that is not finite is shown as a dash, where JSON has null.
package html
