// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)

// Go calls C, which sleeps and calls Go.
package main

/*
#include <unistd.h>
extern int goBack(int);
static int work(int n) { usleep(1000); return goBack(n) + 1; }
*/
import "C"
import "time"

//export goBack
func goBack(n C.int) C.int {
	time.Sleep(time.Millisecond)
	return n * 2
}

func main() {
	sum := 0
	for i := 0; i < 20; i++ {
		sum += int(C.work(C.int(i)))
	}
	println(sum)
}
