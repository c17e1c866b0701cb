// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
// locks queue SECONDS: 6 goroutines queue for one mutex, each has it for 5 ms at a time. Prints how long they waited, in ms.
// locks stuck SECONDS: 2 goroutines, each of which has the mutex that the other waits for; main waits for both, or for
// the time to be over.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

func queue(end time.Time) {
	var mutex sync.Mutex
	var all sync.WaitGroup
	var waited atomic.Int64
	for i := 0; i < 6; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for time.Now().Before(end) {
				begin := time.Now()
				mutex.Lock()
				waited.Add(int64(time.Since(begin)))
				time.Sleep(5 * time.Millisecond)
				mutex.Unlock()
			}
		}()
	}
	all.Wait()
	fmt.Println(waited.Load() / 1e6)
}

func stuck(seconds time.Duration) {
	var a, b sync.Mutex
	both := make(chan bool)
	have := func(first, second *sync.Mutex) {
		first.Lock()
		time.Sleep(50 * time.Millisecond)
		second.Lock()
		both <- true
	}
	go have(&a, &b)
	go have(&b, &a)
	select {
	case <-both:
		fmt.Println("not stuck")
	case <-time.After(seconds):
		fmt.Println("stuck")
	}
}

func main() {
	seconds, err := strconv.ParseFloat(os.Args[2], 64)
	if err != nil {
		panic(err)
	}
	time.Sleep(10 * time.Millisecond)
	if os.Args[1] == "queue" {
		queue(time.Now().Add(time.Duration(seconds * 1e9)))
	} else {
		stuck(time.Duration(seconds * 1e9))
	}
}
