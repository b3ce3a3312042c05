// Package maintenance has the rules about members' data: alarms, comparisons and
// defragmentation (S6, S8).
package maintenance
