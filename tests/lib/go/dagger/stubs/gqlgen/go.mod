module github.com/99designs/gqlgen

go 1.19
