//go:build tools

// Package kwok names the command that parts/build builds, so that go.mod and go.sum have what it needs.
package kwok

import _ "sigs.k8s.io/kwok/cmd/kwok"
