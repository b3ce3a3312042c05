// Package project tests the files by which the project is run: workflows, the list of what
// is kept up to date, issue forms, and what its pages link to. It needs git and nothing else.
package project
