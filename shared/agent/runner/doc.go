// Package runner is what every agent does its work with: it runs a task, makes a Failure
// of whatever goes wrong, writes the result, and opens the place that a task names. It is
// apart from package agent because operators need only the types, and none of the
// libraries of a store.
package runner
