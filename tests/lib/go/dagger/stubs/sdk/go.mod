module go.opentelemetry.io/otel/sdk

go 1.19

require go.opentelemetry.io/otel/trace v0.0.0

replace go.opentelemetry.io/otel/trace => ../trace
