// Package certificates keeps the certificates of clusters with TLS: it checks those that
// a user keeps, issues them where the operator is the CA, and delivers those that
// cert-manager has issued.
//
// Its core is pure: from the Secrets as they were read, the EtcdCluster, its Pods and the
// time follows what is to be written, what is wrong, and which CAs members are to
// trust. [Keeper] reads and writes around it. Nothing is kept between two looks but a
// short-lived answer: all that must last is in the Secrets.
//
// A CA is replaced in steps, so that nobody ever shows a certificate to someone
// who can't know its CA:
//
//  1. All Secrets get both CAs (ca.crt), with the certificates as they were. The
//     hash of the CAs changes, and the planner restarts members one at a time.
//  2. When every Pod was made to trust both, and is ready, the peer, operator and client
//     Secrets get certificates of the new CA. Half of spec caOverlap later, when
//     clients have loaded both CAs, the server Secret follows.
//  3. When all of caOverlap has passed, the old CA is taken out of all Secrets, and
//     members are restarted once more.
//
// Each step follows from what is in the Secrets, so that an operator may end at any line,
// and two operators do no more harm than one: every write has the resourceVersion of what
// it was decided on, and what was decided on was read before its CA.
package certificates
