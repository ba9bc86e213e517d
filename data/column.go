package data

// A Column is what a model knows of a column of the table that it was fitted to: its name, and what its numbers stand
// for.
type Column struct {
	Name   string `json:"name"`
	Family string `json:"family,omitempty"` // of its distribution in a model that has several
	// Block is the family that describes a column together with its neighbours of the same Block. It is empty
	// for columns that are described by themselves.
	Block string `json:"block,omitempty"`
	// Levels are the texts of the codes 0, 1, … of categorical and ordinal columns, and of bernoulli columns whose
	// levels are not 0 and 1.
	Levels []string `json:"levels,omitempty"`
	Reason string   `json:"reason,omitempty"` // why it was given that family, where its values decided
	Unit   string   `json:"unit,omitempty"`   // of columns that were dates
}
