// Package remote has data that are not files, for --data of the command: objects of S3, Google Cloud Storage and Azure
// Blob Storage, and queries of SQLite and PostgreSQL. The program latent-remote is latent with them; a command of one's
// own has them by command.Host{Sources: remote.Sources()}. It is a module of its own because of what it depends on.
//
//	s3://BUCKET/KEY?region=eu-central-1          also with * in the key, for a table in several objects
//	gs://BUCKET/KEY
//	azblob://CONTAINER/KEY
//	file:///FOLDER/KEY
//	sqlite:FILE?query=SELECT …                   the query is what follows, as it is
//	postgres://USER@HOST/DATABASE?query=SELECT …
//
// Credentials are those that the services' own tools find. Options of a bucket, such as region and endpoint, are those
// of gocloud.dev/blob.
package remote

import (
	"github.com/latent-go/latent/command"
)

// Sources returns the sources by the schemes of their names.
func Sources() map[string]command.Source {
	objects := command.Source{List: list, Open: open}
	postgres := command.Source{Table: ofPostgres}
	return map[string]command.Source{
		"s3": objects, "gs": objects, "azblob": objects, "file": objects, "sqlite": {Table: ofSQLite},
		"postgres": postgres, "postgresql": postgres,
	}
}
