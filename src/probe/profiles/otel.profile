# SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#
# Spans of the OpenTelemetry SDK for Go that are sampled: their ids, at start and end. Of the operations that other
# profiles tell of, the one that is open as a span begins owns it, if the span covers it. Where the SDK keeps the ids
# the debug information says; in a stripped program it is taken to be where it is from version 1.20 (November 2023) on.
about = OpenTelemetry in Go programs: the spans that operations own
tried = a program with functions and types of the same names, written for it; not with the SDK itself
file = program
language = go

# What is not sampled has no such span. Older versions have other arguments, but the same result.
[span start]
symbol = go.opentelemetry.io/otel/sdk/trace.(*tracer).newRecordingSpan
results = span ptr
trace = {span->spanContext.traceID:x8[16] | +192(span):x8[16]}
span = {span->spanContext.spanID:x8[8] | +208(span):x8[8]}
optional = yes

[span_end end]
symbol = go.opentelemetry.io/otel/sdk/trace.(*recordingSpan).End
args = span ptr, options slice
trace = {span->spanContext.traceID:x8[16] | +192(span):x8[16]}
span = {span->spanContext.spanID:x8[8] | +208(span):x8[8]}
optional = yes
