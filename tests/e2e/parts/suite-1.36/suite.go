//go:build tools

// Package suite names the test program that parts/build builds for `make e2e-upstream`.
package suite

import _ "k8s.io/kubernetes/test/e2e"
