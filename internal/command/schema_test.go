package command

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// schemas compiles those of docs/schema, by their names without .json. They let fields be added later; here every object
// that lists its fields is closed, so that a field that the schema lacks is an error.
func schemas(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	files, err := filepath.Glob("../../docs/schema/*.json")
	require.NoError(t, err)
	compiler, list := jsonschema.NewCompiler(), map[string]*jsonschema.Schema{}
	for _, file := range files {
		text, err := os.Open(file)
		require.NoError(t, err)
		schema, err := jsonschema.UnmarshalJSON(text)
		require.NoError(t, text.Close())
		require.NoError(t, err, file)
		closeObjects(schema)
		require.NoError(t, compiler.AddResource("file:///"+filepath.Base(file), schema))
	}
	for _, file := range files {
		name := filepath.Base(file)
		list[strings.TrimSuffix(name, ".json")], err = compiler.Compile("file:///" + name)
		require.NoError(t, err)
	}
	return list
}

// closeObjects refuses what objects do not list. The branches of a condition list only what they add.
func closeObjects(schema any) {
	switch s := schema.(type) {
	case map[string]any:
		_, lists := s["properties"]
		if _, open := s["additionalProperties"]; lists && !open && s["type"] == "object" {
			s["additionalProperties"] = false
		}
		for _, inner := range s {
			closeObjects(inner)
		}
	case []any:
		for _, inner := range s {
			closeObjects(inner)
		}
	}
}

// conforms checks a text of JSON against a schema of docs/schema.
func conforms(t *testing.T, schema *jsonschema.Schema, text string, about ...any) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	require.NoError(t, err)
	assert.NoError(t, schema.Validate(value), about...)
}

// TestFieldsAreInOneStyle: lower case, words joined by underscores. What outputs have, the closed schemas have.
func TestFieldsAreInOneStyle(t *testing.T) {
	files, err := filepath.Glob("../../docs/schema/*.json")
	require.NoError(t, err)
	count := 0
	var names func(value any)
	names = func(value any) {
		switch s := value.(type) {
		case map[string]any:
			fields, _ := s["properties"].(map[string]any)
			for name := range fields {
				assert.Regexp(t, `^[a-z][a-z0-9]*(_[a-z0-9]+)*$`, name)
				count++
			}
			for _, inner := range s {
				names(inner)
			}
		case []any:
			for _, inner := range s {
				names(inner)
			}
		}
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var schema any
		require.NoError(t, json.Unmarshal(text, &schema))
		names(schema)
	}
	assert.Greater(t, count, 300)
}

// A regressor far out leaves its weight out of the prior's scatter, which the file keeps.
func TestSchemasHaveWhatRegressorsFarOutAdd(t *testing.T) {
	rows := strings.Builder{}
	rows.WriteString("x,y\n999,1\n")
	for i := range 60 {
		fmt.Fprintf(&rows, "%d,%d\n", i%10, 2*(i%10)+i*i%7)
	}
	text, _ := done(t, "fit", "--data", file(t, "far.csv", rows.String()), "--model", "regression", "--response", "y", "--k", "1", "--format", "json")
	require.Contains(t, text, `"regressors":[`)
	conforms(t, schemas(t)["fit"], text)
}

// A schema that takes anything would hold nothing.
func TestSchemasRefuseWhatIsNotThere(t *testing.T) {
	all := schemas(t)
	text, _ := done(t, "fit", "--data", "ruspini", "--k", "2", "--format", "json")
	conforms(t, all["fit"], text)
	for name, change := range map[string][2]string{
		"a field too many":      {`"model":`, `"modell":1,"model":`},
		"a field too few":       {`"criterion":`, `"criterium":`},
		"a text for a number":   {`"kmax":2`, `"kmax":"2"`},
		"an unknown model":      {`"model":"mixture"`, `"model":"mixtures"`},
		"parameters of another": {`"model":"mixture"`, `"model":"hmm"`},
	} {
		require.Contains(t, text, change[0])
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(strings.Replace(text, change[0], change[1], 1)))
		require.NoError(t, err)
		assert.Error(t, all["fit"].Validate(value), name)
	}
}
