// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)

// Package trace stands in for OpenTelemetry's SDK: spans that lie in memory as its do, from version 1.20 on.
package trace

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
)

type Status struct {
	Code        uint32
	Description string
}

type recordingSpan struct {
	embedded       interface{ span() }
	mu             sync.Mutex
	parent         trace.SpanContext
	spanKind       int
	name           string
	startTime      time.Time
	endTime        time.Time
	status         Status
	childSpanCount int
	spanContext    trace.SpanContext
	tracer         *tracer
}

// A span that nobody records, which every third is.
type nonRecordingSpan struct {
	tracer *tracer
	sc     trace.SpanContext
}

type tracer struct {
	mu      sync.Mutex
	started int
}

type spanKey struct{}

// NewTracer is the stand-in's own.
func NewTracer() interface {
	Start(ctx context.Context, name string) (context.Context, trace.Span)
} {
	return &tracer{}
}

func (tr *tracer) Start(ctx context.Context, name string) (context.Context, trace.Span) {
	var traceID trace.TraceID
	var spanID trace.SpanID
	parent, _ := ctx.Value(spanKey{}).(trace.Span)
	if parent != nil {
		traceID = parent.SpanContext().TraceID()
	} else {
		rand.Read(traceID[:])
	}
	rand.Read(spanID[:])
	sc := trace.NewSpanContext(traceID, spanID)
	tr.mu.Lock()
	tr.started++
	dropped := tr.started%3 == 0
	tr.mu.Unlock()
	var s trace.Span
	if dropped {
		s = &nonRecordingSpan{tracer: tr, sc: sc}
	} else {
		s = tr.newRecordingSpan(sc, name)
	}
	return context.WithValue(ctx, spanKey{}, s), s
}

//go:noinline
func (tr *tracer) newRecordingSpan(sc trace.SpanContext, name string) *recordingSpan {
	return &recordingSpan{name: name, startTime: time.Now(), spanContext: sc, tracer: tr}
}

//go:noinline
func (s *recordingSpan) End(options ...trace.SpanEndOption) {
	s.mu.Lock()
	s.endTime = time.Now()
	s.mu.Unlock()
}

func (s *recordingSpan) SpanContext() trace.SpanContext { return s.spanContext }

func (s *nonRecordingSpan) End(options ...trace.SpanEndOption) {}

func (s *nonRecordingSpan) SpanContext() trace.SpanContext { return s.sc }

// IsRecording is the stand-in's own.
func IsRecording(s trace.Span) bool {
	_, yes := s.(*recordingSpan)
	return yes
}
