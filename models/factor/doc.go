// Package factor is factor analysis. So far it rotates loadings: [Varimax], [Promax] and [Oblimin].
package factor
