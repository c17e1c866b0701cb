module github.com/dagger/otel-go

go 1.19
