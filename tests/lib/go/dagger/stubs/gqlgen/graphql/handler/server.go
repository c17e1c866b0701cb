// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)

// Package handler stands in for the one that the engine answers queries with.
package handler

import "context"

// Of net/http's types what they are here for: to lie where they lie among the arguments.
type ResponseWriter interface{ WriteHeader(status int) }

type Request struct{ Ctx context.Context }

type Server struct {
	Answer func(w ResponseWriter, r *Request)
}

//go:noinline
func (s *Server) ServeHTTP(w ResponseWriter, r *Request) {
	s.Answer(w, r)
}
