// Command latent-remote is the command latent, whose --data may also name objects of S3, Google Cloud Storage and Azure
// Blob Storage, and queries of SQLite and PostgreSQL:
//
//	latent-remote fit --data 's3://bucket/part-*.parquet?region=eu-central-1' …
//	latent-remote fit --data 'sqlite:shop.db?query=SELECT price, weight FROM articles' …
package main

import (
	"os"

	"github.com/latent-go/latent/command"
	"github.com/latent-go/latent/remote"
)

func main() { os.Exit(command.Main(command.Host{Name: "latent-remote", Sources: remote.Sources()})) }
