// Package html writes a report as one self-contained HTML page: figures are inline SVG, each with its numbers in a
// table beneath it. The page loads nothing from the network and runs only its own script.
//
// A page follows the reader's light or dark mode, fits a phone, and reads well aloud: every figure has a title and a
// description, and a table has its numbers. Marks show their values on hover, by a script of a few lines or, without
// it, by the browser's own tooltips. All text is escaped (html/template): names of columns may contain any
// characters. The page's security policy lets the browser load nothing, and run only that one script, which it
// recognises by its hash.
//
// Figures are not drawn by gonum/plot, as those of module reproduce are, but by this package: their colours and texts
// are classes of the page's style sheet, so that they follow light and dark mode, and their marks have tooltips. A
// mark with a coordinate that is not finite is omitted. A number that is not finite is shown as a dash (JSON has
// null).
package html
