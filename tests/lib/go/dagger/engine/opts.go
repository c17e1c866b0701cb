// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)

// Package engine: who asks.
package engine

type ClientMetadata struct {
	ClientID          string
	ClientSecretToken string
	SessionID         string
}
