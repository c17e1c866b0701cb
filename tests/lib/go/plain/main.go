// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)

// A program with inlined calls, generic code, method wrappers, deep stacks that grow, goroutines, defer and panic.
// It prints one line. With a number of milliseconds as argument it then sleeps that long, in a system call.
package main

import (
	"os"
	"sort"
	"strconv"
	"sync"
	"syscall"
	"time"
)

type shape interface{ area() int }

type square struct{ side int }

func (s square) area() int { return s.side * s.side }

// Its area() is a wrapper that the compiler makes.
type window struct{ square }

func apply[T, U any](in []T, f func(T) U) []U {
	out := make([]U, 0, len(in))
	for _, v := range in {
		out = append(out, f(v))
	}
	return out
}

func twice(x int) int { return once(x)*2 + 1 }
func once(x int) int  { return x ^ 0x55 }

//go:noinline
func deep(n int) int {
	var pad [64]int
	pad[n%64] = n
	if n == 0 {
		return twice(pad[0])
	}
	return deep(n-1) + pad[n%64]
}

//go:noinline
func recovers(n int) (err interface{}) {
	defer func() { err = recover() }()
	var p *int
	if n > 0 {
		p = &n
	}
	return *p
}

//go:noinline
func outer() { inner(); outers++ }

//go:noinline
func inner() {
	t := syscall.NsecToTimespec(5e6)
	syscall.Nanosleep(&t, nil)
	inners++
}

var outers, inners int

func main() {
	var wg sync.WaitGroup
	var mutex sync.Mutex
	var all []string
	for i := 0; i < 3; i++ {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			var s shape = window{square{i}}
			words := apply([]int{1, 2, s.area()}, func(v int) string { return strconv.Itoa(twice(v)) })
			n := deep(300)
			recovers(i)
			time.Sleep(time.Millisecond)
			mutex.Lock()
			all = append(all, words...)
			all = append(all, strconv.Itoa(n))
			mutex.Unlock()
		}(i)
	}
	wg.Wait()
	sort.Strings(all)
	text := ""
	for _, s := range all {
		text += s + " "
	}
	os.Stdout.WriteString(text + "\n")
	if len(os.Args) > 1 {
		ms, _ := strconv.Atoi(os.Args[1])
		for end := time.Now().Add(time.Duration(ms) * time.Millisecond); time.Now().Before(end); {
			outer()
		}
	}
}
