// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
// parked MS: two goroutines for each way to wait, all parked when "parked" is printed; MS later one of the two is woken,
// by main, and prints so, the other stays parked. Prints the number of each goroutine and ends after twice that time.
package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"
)

func goid() string {
	buffer := make([]byte, 64)
	return string(bytes.Fields(buffer[:runtime.Stack(buffer, false)])[1])
}

func onMutex(m *sync.Mutex) { m.Lock() }
func onReceive(c chan int)  { <-c }
func onSend(c chan int)     { c <- 1 }
func onSelect(a, b chan int) {
	select {
	case <-a:
	case <-b:
	}
}
func onWaitGroup(w *sync.WaitGroup) { w.Wait() }
func onCond(c *sync.Cond)           { c.L.Lock(); c.Wait(); c.L.Unlock() }
func onSleep(d time.Duration)       { time.Sleep(d) }
func onNetwork(c net.Conn)          { c.Read(make([]byte, 1)) }

var woken sync.WaitGroup
var begun sync.WaitGroup
var printing sync.Mutex

func say(text string) {
	printing.Lock()
	fmt.Println(text)
	printing.Unlock()
}

// begin starts a goroutine that waits by f, as kind; it is to be woken if wakes.
func begin(kind string, wakes bool, f func()) {
	begun.Add(1)
	if wakes {
		woken.Add(1)
	}
	go func() {
		id := goid()
		say(fmt.Sprintf("goroutine kind=%s wakes=%v goid=%s", kind, wakes, id))
		begun.Done()
		f()
		say(fmt.Sprintf("woken kind=%s goid=%s at=%d", kind, id, time.Now().UnixNano()))
		if wakes {
			woken.Done()
		}
	}()
}

func pair() (net.Conn, net.Conn) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer listener.Close()
	one, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		panic(err)
	}
	other, err := listener.Accept()
	if err != nil {
		panic(err)
	}
	return one, other
}

// many has n goroutines wait, and one of a hundred woken and parked again every millisecond, until it is killed.
func many(n int) {
	channels := make([]chan int, n)
	for i := range channels {
		channels[i] = make(chan int)
		begun.Add(1)
		go func(c chan int) {
			begun.Done()
			for {
				onReceive(c)
			}
		}(channels[i])
	}
	begun.Wait()
	time.Sleep(200 * time.Millisecond)
	say(fmt.Sprintf("parked many=%d", n))
	for i := 0; ; i += 100 {
		channels[i%n] <- 1
		time.Sleep(time.Millisecond)
	}
}

func main() {
	if os.Args[1] == "many" {
		n, err := strconv.Atoi(os.Args[2])
		if err != nil {
			panic(err)
		}
		many(n)
	}
	ms, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	wake := []func(){}
	kept := []net.Conn{}
	for _, wakes := range []bool{true, false} {
		mutex, group := new(sync.Mutex), new(sync.WaitGroup)
		cond := sync.NewCond(new(sync.Mutex))
		receive, send, a, b := make(chan int), make(chan int), make(chan int), make(chan int)
		near, far := pair()
		sleep := time.Hour
		if wakes {
			sleep = time.Duration(ms) * time.Millisecond
		}
		kept = append(kept, near, far)
		mutex.Lock()
		group.Add(1)
		begin("mutex", wakes, func() { onMutex(mutex) })
		begin("chan_receive", wakes, func() { onReceive(receive) })
		begin("chan_send", wakes, func() { onSend(send) })
		begin("chan_select", wakes, func() { onSelect(a, b) })
		begin("waitgroup", wakes, func() { onWaitGroup(group) })
		begin("condvar", wakes, func() { onCond(cond) })
		begin("sleep", wakes, func() { onSleep(sleep) })
		begin("socket", wakes, func() { onNetwork(near) })
		if wakes {
			wake = []func(){mutex.Unlock, func() { receive <- 1 }, func() { <-send }, func() { b <- 1 }, group.Done,
				cond.Broadcast, func() { far.Write([]byte("x")) }}
		}
	}
	begun.Wait()
	time.Sleep(50 * time.Millisecond)
	say(fmt.Sprintf("parked main=%s", goid()))
	time.Sleep(time.Duration(ms) * time.Millisecond)
	for _, f := range wake {
		f()
	}
	woken.Wait()
	say("all woken")
	time.Sleep(time.Duration(ms) * time.Millisecond)
	runtime.KeepAlive(kept)
}
