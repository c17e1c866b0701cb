// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)

// Package trace stands in for OpenTelemetry's API, as far as a span's ids.
package trace

type TraceID [16]byte

type SpanID [8]byte

type member struct{ key, value string }

type TraceState struct{ list []member }

type SpanContext struct {
	traceID    TraceID
	spanID     SpanID
	traceFlags byte
	traceState TraceState
	remote     bool
}

func NewSpanContext(t TraceID, s SpanID) SpanContext {
	return SpanContext{traceID: t, spanID: s, traceFlags: 1}
}

func (sc SpanContext) TraceID() TraceID { return sc.traceID }

func (sc SpanContext) SpanID() SpanID { return sc.spanID }

type SpanEndOption interface{ end() }

type Span interface {
	End(options ...SpanEndOption)
	SpanContext() SpanContext
}
