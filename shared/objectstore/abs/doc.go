// Package abs is a container of Azure Blob Storage as an [objectstore.Store].
//
// An upload is a block blob whose blocks are staged one by one and committed at the end, so
// that it is complete or not there. Azure forgets blocks that nobody commits after a week.
package abs
