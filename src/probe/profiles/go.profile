about = Go: goroutines, net/http
[op serve]
symbol = net/http.(*conn).serve
