module github.com/moby/locker

go 1.19
