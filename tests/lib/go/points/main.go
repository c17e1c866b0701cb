// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)

// points [N]: calls functions of many shapes, known numbers of times, and waits
// in each way that goroutines have; in the end they queue for one P. It prints
//
//	clock realtime=NS monotonic=NS
//	called NAME times=N
//	wait kind=WORD goid=N waker=N start=NS end=NS	(CLOCK_MONOTONIC; waker 0: no goroutine)
//	child goid=N parent=N
//	queued goid=N start=NS woken=NS by=NS end=NS	(woken between two times, ran at the end)
//	yielded goid=N start=NS end=NS
package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

func monotonic() int64 {
	var t syscall.Timespec
	const clockMonotonic = 1
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

// goid as a traceback prints it: "goroutine 18 [running]:"
func goid() int {
	var text [64]byte
	fields := bytes.Fields(text[:runtime.Stack(text[:], false)])
	id, _ := strconv.Atoi(string(fields[1]))
	return id
}

var (
	sink  int
	lines []string
	mutex sync.Mutex
)

func say(format string, args ...interface{}) {
	mutex.Lock()
	lines = append(lines, fmt.Sprintf(format, args...))
	mutex.Unlock()
}

// ---- shapes ----

//go:noinline
func leaf(i int) int { return i * 3 }

//go:noinline
func counted(i int) int {
	sink = leaf(i)
	return i + 1
}

//go:noinline
func several(i int, s string) (int, error) {
	switch {
	case i%4 == 0:
		return len(s), nil
	case i%4 == 1:
		return leaf(i), errors.New("of " + s)
	case i%4 == 2:
		return counted(i), nil
	}
	return 0, nil
}

// grows needs more stack than a new goroutine has, again and again.
//
//go:noinline
func grows(n int) int {
	var room [200]byte
	room[n%200] = byte(n)
	if n == 0 {
		return int(room[0])
	}
	return grows(n-1) + int(room[n%200]) - n%256
}

//go:noinline
func panics(i int) int {
	sink = leaf(i)
	if i%2 == 1 {
		panic(i)
	}
	return i
}

//go:noinline
func through(i int) int { return panics(i) + 1 }

//go:noinline
func recovers(i int) (ok bool) {
	defer func() { ok = recover() == nil }()
	through(i)
	return true
}

//go:noinline
func exits(i int) int {
	defer leaf(i)
	if i%2 == 1 {
		runtime.Goexit()
	}
	return leaf(i)
}

// migrates lets others take its thread, and goes on on another.
//
//go:noinline
func migrates(i int) int {
	for k := 0; k < 5; k++ {
		time.Sleep(100 * time.Microsecond)
		runtime.Gosched()
	}
	return grows(100 + i)
}

type inner struct {
	name string
	n    int
}
type outer struct {
	pad [3]int
	*inner
}
type namer interface{ describe(prefix string) string }

//go:noinline
func (t *inner) describe(prefix string) string {
	t.n = leaf(t.n)
	return prefix + t.name
}

// Called by the method table of outer, which leads to a wrapper that the compiler makes.
var named namer

// Inlined at one place, and called at another.
func inlined(i int) int { return i ^ 0x2a }

var byValue = inlined

// Inlined wherever it is called.
func onlyInlined(i int) int { return i ^ 0x15 }

//go:noinline
func arguments(s string, b []byte, n int, t *inner) int { return len(s) + leaf(len(b)) + n + t.n }

// Nine integers have registers, the string lies on the stack.
//
//go:noinline
func spilled(a, b, c, d, e, f, g, h, i int, s string) int {
	return leaf(a+b+c+d+e+f+g+h+i) + len(s)
}

//go:noinline
func child(i int) { time.Sleep(time.Millisecond) }

//go:noinline
func parent(i int) {
	var all sync.WaitGroup
	me := goid()
	all.Add(1)
	go func() {
		defer all.Done()
		say("child goid=%d parent=%d", goid(), me)
		child(i)
	}()
	all.Wait()
}

func shapes(n int) {
	var all sync.WaitGroup
	called := map[string]int{}
	start := func(f func()) {
		all.Add(1)
		go func() {
			defer all.Done()
			f()
		}()
	}
	for i := 0; i < n; i++ {
		i := i
		counted(i)
		several(i, "s"+strconv.Itoa(i))
		recovers(i)
		start(func() { exits(i) })
		arguments("string "+strconv.Itoa(i), make([]byte, i), i, &inner{n: i})
		spilled(1, 2, 3, 4, 5, 6, 7, 8, i, "spilled "+strconv.Itoa(i))
		(&inner{name: strconv.Itoa(i)}).describe("direct ")
		named = &outer{inner: &inner{name: strconv.Itoa(i)}}
		named.describe("wrapped ")
		sink = inlined(i) + byValue(i) + onlyInlined(i)
	}
	for i := 0; i < 20; i++ {
		i := i
		start(func() { grows(500) })
		start(func() { migrates(i) })
	}
	all.Wait()
	for i := 0; i < 10; i++ {
		parent(i)
	}
	called["counted"], called["several"], called["panics"], called["through"] = n+(n+1)/4, n, n, n
	called["recovers"], called["exits"], called["arguments"], called["spilled"] = n, n, n, n
	called["describe"], called["grows"], called["migrates"] = 2*n, 20*501+20*101+190, 20
	called["parent"], called["child"] = 10, 10
	for name, times := range called {
		say("called %s times=%d", name, times)
	}
}

// ---- waits ----

const nap = 30 * time.Millisecond

// waits runs wait in one goroutine and, a nap later, wake in another.
func waits(kind string, wait, wake func()) {
	var all sync.WaitGroup
	ids := make(chan int, 2)
	var start, end int64
	all.Add(1)
	go func() {
		defer all.Done()
		ids <- goid()
		start = monotonic()
		wait()
		end = monotonic()
	}()
	waiter, waker := <-ids, 0
	if wake != nil {
		all.Add(1)
		go func() {
			defer all.Done()
			ids <- goid()
			time.Sleep(nap)
			wake()
		}()
		waker = <-ids
	}
	all.Wait()
	say("wait kind=%s goid=%d waker=%d start=%d end=%d", kind, waiter, waker, start, end)
}

func network() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	accepted := make(chan net.Conn)
	go func() {
		c, _ := listener.Accept()
		accepted <- c
	}()
	near, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		panic(err)
	}
	far := <-accepted
	// The poller wakes it, not who wrote.
	waits("network", func() { near.Read(make([]byte, 1)) }, func() { far.Write([]byte{1}) })
	waits("deadline", func() {
		near.SetReadDeadline(time.Now().Add(nap))
		near.Read(make([]byte, 1))
	}, nil)
	near.Close()
	far.Close()
	waits("accept", func() {
		c, err := listener.Accept()
		if err != nil {
			panic(err)
		}
		c.Close()
	}, func() {
		c, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			panic(err)
		}
		c.Close()
	})
	listener.Close()
}

func pipe() {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	waits("pipe", func() { r.Read(make([]byte, 1)) }, func() { w.Write([]byte{1}) })
	r.Close()
	w.Close()
}

// timers end a wait themselves, or by a goroutine that they begin.
func timers() {
	waits("timer", func() { <-time.After(nap) }, nil)
	waits("timer_select", func() {
		t := time.NewTicker(nap)
		defer t.Stop()
		select {
		case <-t.C:
		case <-make(chan int):
		}
	}, nil)

	var start, end int64
	var waiter, waker int
	called, done := make(chan int), make(chan int)
	time.AfterFunc(nap, func() {
		waker = goid()
		called <- 1
	})
	go func() {
		waiter, start = goid(), monotonic()
		<-called
		end = monotonic()
		done <- 1
	}()
	<-done
	say("wait kind=after_func goid=%d waker=%d start=%d end=%d", waiter, waker, start, end)
}

// ---- one P: who is woken runs when nobody else does ----

const busy = int64(5 * time.Millisecond)

func burn() int64 {
	start := monotonic()
	for monotonic()-start < busy {
	}
	return start
}

func queues() {
	runtime.GOMAXPROCS(1)
	for i := 0; i < 10; i++ {
		var waiter int
		var start, end int64
		c, done := make(chan int), make(chan int)
		go func() {
			waiter, start = goid(), monotonic()
			<-c
			end = monotonic()
			done <- 1
		}()
		time.Sleep(2 * time.Millisecond)
		woken := monotonic()
		c <- 1
		by := burn()
		<-done
		say("queued goid=%d start=%d woken=%d by=%d end=%d", waiter, start, woken, by, end)
	}
	for i := 0; i < 10; i++ {
		var yields int
		var start, end int64
		done := make(chan int)
		go func() {
			go burn()
			yields, start = goid(), monotonic()
			runtime.Gosched()
			end = monotonic()
			done <- 1
		}()
		<-done
		say("yielded goid=%d start=%d end=%d", yields, start, end)
	}
}

func allWaits() {
	var m sync.Mutex
	var rw sync.RWMutex
	var wg sync.WaitGroup
	c, buffered, other := make(chan int), make(chan int, 1), make(chan int)

	m.Lock()
	waits("mutex", func() { m.Lock() }, func() { m.Unlock() })
	rw.Lock()
	waits("rwlock", func() { rw.RLock() }, func() { rw.Unlock() })
	waits("chan_receive", func() { <-c }, func() { c <- 1 })
	waits("chan_close", func() { <-other }, func() { close(other) })
	buffered <- 1
	waits("chan_send", func() { buffered <- 2 }, func() { <-buffered })
	waits("select", func() {
		select {
		case <-c:
		case <-make(chan int):
		}
	}, func() { c <- 1 })
	cond := sync.NewCond(&sync.Mutex{})
	waits("cond", func() { cond.L.Lock(); cond.Wait(); cond.L.Unlock() }, func() { cond.Signal() })
	wg.Add(1)
	waits("waitgroup", func() { wg.Wait() }, func() { wg.Done() })
	waits("sleep", func() { time.Sleep(nap) }, nil)
	network()
	pipe()
	timers()
	waits("syscall", func() {
		t := syscall.NsecToTimespec(int64(nap))
		syscall.Nanosleep(&t, nil)
	}, nil)
}

func main() {
	n := 200
	if len(os.Args) > 1 {
		n, _ = strconv.Atoi(os.Args[1])
	}
	fmt.Printf("clock realtime=%d monotonic=%d\n", time.Now().UnixNano(), monotonic())
	shapes(n)
	allWaits()
	queues()
	for _, line := range lines {
		fmt.Println(line)
	}
	os.Exit(9)
}
