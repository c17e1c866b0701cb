// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)

// Functions that are handed values of many types, once, from one goroutine; and some that end in many ways. Tests know
// what is in here.
package main

import "os"

type inner struct {
	a int32
	b string
}

type item struct{ k, v uint16 }

type request struct {
	*inner
	name  string
	n     [2]uint64
	items []item
}

type pair struct{ a, b int }

var sink int

//go:noinline
func (r *request) do(s string, data []byte, f func(int) (int, error), any interface{}, st pair, arr [2]int, last uint8, fl float64) (int, string) {
	n, _ := f(len(r.name))
	sink += n + len(s) + len(data) + st.a + st.b + arr[0] + int(last) + int(fl)
	if any == nil {
		return 0, s
	}
	return 95, "result"
}

//go:noinline
func many(a, b, c, d, e, f, g, h, i, j int) (int, int, int, int, int, int, int, int, int, int) {
	sink += a + b + c + d + e + f + g + h + i + j
	return 11, 12, 13, 14, 15, 16, 17, 18, 19, j + 10
}

// Grows the stack; 401 calls.
//
//go:noinline
func deep(n int) int {
	var pad [64]int
	pad[n%64] = n
	if n == 0 {
		return pad[0]
	}
	return deep(n-1) + pad[n%64]
}

// 10 calls, 5 of which panic and return all the same.
//
//go:noinline
func recovers(n int) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = true
		}
	}()
	if n%2 == 1 {
		panic(n)
	}
	sink++
	return false
}

// Returns from several places; 6 calls.
//
//go:noinline
func several(n int) string {
	switch n {
	case 0:
		return "zero"
	case 1:
		sink++
		return "one"
	case 2:
		return "two"
	case 3:
		sink += 2
		return "three"
	}
	if n > 4 {
		return "more"
	}
	return "four"
}

type closer struct{ n int }

//go:noinline
func (c *closer) close(n int) int { sink += n; return c.n }

type wrapped struct{ *closer }

type isCloser interface{ close(int) int }

// A wrapped one has a method that the compiler makes, and that jumps to the other's.
//
//go:noinline
func open(n int) isCloser {
	if n > 0 {
		return wrapped{&closer{7}}
	}
	return &closer{8}
}

func main() {
	r := &request{&inner{-12, "embedded"}, "the name", [2]uint64{33, 34}, []item{{1, 2}, {56, 3}}}
	bytes := make([]byte, 5)
	copy(bytes, "bytes")
	number, text := r.do("a string", bytes, func(n int) (int, error) { return n, nil }, &inner{a: -78}, pair{90, 91},
		[2]int{92, 93}, 94, 1.5)
	a, _, _, _, _, _, _, _, _, _ := many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	sink += number + len(text) + a
	done := make(chan int)
	go func() { done <- deep(400) }()
	sink += <-done
	for i := 0; i < 10; i++ {
		if recovers(i) != (i%2 == 1) {
			os.Exit(1)
		}
	}
	for i := 0; i < 6; i++ {
		sink += len(several(i))
	}
	c := open(len(os.Args))
	for i := 0; i < 3; i++ {
		sink += c.close(i)
	}
}
