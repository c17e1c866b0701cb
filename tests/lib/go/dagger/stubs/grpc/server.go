// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)

// Package grpc stands in for the one of that name: a server that is stopped.
package grpc

import "time"

type Server struct{}

//go:noinline
func (s *Server) GracefulStop() { time.Sleep(2 * time.Millisecond) }
