// Package membership has the rules that change the member list, one settled change at a time,
// and those that give members their Pods and roles (S2 to S5, S7).
package membership
