// Package rollout has the rules that bring members to another version, image or Pod template,
// one at a time, while all members are healthy (S6, S8, S10).
package rollout
