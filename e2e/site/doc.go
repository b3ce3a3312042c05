// Package site tests the built site of docs/, out/docs: its links, and what a reader does with it in a real browser.
// "make test-docs" builds it and runs these tests.
package site
