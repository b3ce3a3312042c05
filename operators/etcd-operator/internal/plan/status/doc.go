// Package status derives the status and its conditions from the facts and the step that is
// taken on them. Nothing is decided from it.
package status
