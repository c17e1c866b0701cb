module github.com/dagger/dagger

go 1.19

require (
	github.com/99designs/gqlgen v0.0.0
	github.com/dagger/otel-go v0.0.0
	github.com/moby/locker v0.0.0
	go.opentelemetry.io/otel/sdk v0.0.0
	go.opentelemetry.io/otel/trace v0.0.0
	google.golang.org/grpc v0.0.0
)

replace (
	github.com/99designs/gqlgen => ./stubs/gqlgen
	github.com/dagger/otel-go => ./stubs/otel-go
	github.com/moby/locker => ./stubs/locker
	go.opentelemetry.io/otel/sdk => ./stubs/sdk
	go.opentelemetry.io/otel/trace => ./stubs/trace
	google.golang.org/grpc => ./stubs/grpc
)
