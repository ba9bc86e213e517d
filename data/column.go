package data

// A Column describes a column of the table to which a model was fitted: its name, and what its numbers stand for.
type Column struct {
	Name   string `json:"name"`
	Family string `json:"family,omitempty"` // family of its distribution, if the model has several
	// Block is the family that describes a column together with its neighbours of the same Block. It is empty if a
	// column is described alone.
	Block string `json:"block,omitempty"`
	// Levels are the texts of the codes 0, 1, … of categorical and ordinal columns, and of bernoulli columns whose
	// levels are not 0 and 1.
	Levels []string `json:"levels,omitempty"`
	Reason string   `json:"reason,omitempty"` // why the column has that family, if its values decided
	Unit   string   `json:"unit,omitempty"`   // unit of a column that had dates
}
