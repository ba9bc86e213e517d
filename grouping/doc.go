// Package grouping joins the components of a mixture into groups. A mixture describes a class of rows that does not
// have the shape of a component, such as a skewed or a bent class, by several components, whatever criterion chose
// their number. But a reader looks for the classes.
//
// Groups are found from two quantities. [Overlap] sums products of the rows' posteriors: C_kl = Σ_n q_nk q_nl. For
// two groups A and B
//
//	overlap(A, B) = Σ_{k∈A, l∈B} C_kl / min(N_A, N_B),   N_A = Σ_{k∈A} N_k,
//
// is the probability that a row of the smaller group is found in the other one when its label is drawn from its
// posterior twice: the directly estimated misclassification probability (DEMP) of Hennig (2010, Advances in Data
// Analysis and Classification 4, 3–34), with drawn labels in place of most probable ones. One pass over the rows then
// serves the whole hierarchy, as the sums of groups are sums of those of their components; with most probable labels
// each join would take a pass.
//
// [Terrain] holds the density: ln f at the peak of each component and, for each two components, at the pass, the
// lowest point of a path between them. With h_A the highest peak in A,
//
//	ridge(A, B) = max_{k∈A, l∈B} f(pass_kl) / min(h_A, h_B)
//
// is 1 if the density does not fall on the way, and near 0 if a gap separates the groups. f is the density of all
// components, so that two components are connected if a third fills the gap between them. The lowest point of any
// path bounds from below the level at which the two are in one connected set {x: f(x) ≥ level} (Hartigan 1975,
// chapter 11), so that a ridge is never overstated. The scale is the lower of the two *group* peaks, so that a chain
// of small bumps cannot join two large classes.
//
// [Join] merges two groups at each step, down to one group. Two groups are proposed as one if they are
// [Joining.Close], which needs both overlap and ridge. Neither suffices: the halves of a long class overlap little,
// and a wide class around a narrow one has no mode of its own. At least two groups are proposed, since only K = 1
// says that a table is one class. The thresholds were chosen on drawn tables (docs/theory/groups.md). Without a
// terrain, as for categorical columns, the overlap alone decides, and must be larger, because such classes overlap.
package grouping
