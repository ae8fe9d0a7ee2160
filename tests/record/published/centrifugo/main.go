// SPDX-License-Identifier: (MIT OR GPL-2.0-only)

// Centrifugo lets goroutines add to counters of a server's statistics, each to its own counter. The
// counters of 24 bytes lie side by side, as they did in centrifugo. With "apart" as the third word
// each counter has its own line.
//
//	centrifugo GOROUTINES ADDITIONS [apart]
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
)

type counter struct {
	value, last, lastSum int64
}

type wideCounter struct {
	counter
	_ [64 - 24]byte
}

func openWindow()
func closeWindow()

// Runs the work in goroutines that begin together, each on its own thread.
func meet(goroutines int, work func(me int)) {
	var here atomic.Int32
	var all sync.WaitGroup
	for i := 0; i < goroutines; i++ {
		all.Add(1)
		go func(me int) {
			runtime.LockOSThread()
			here.Add(1)
			for here.Load() < int32(goroutines)+1 {
				runtime.Gosched()
			}
			work(me)
			all.Done()
		}(i)
	}
	for here.Load() < int32(goroutines) {
		runtime.Gosched()
	}
	openWindow()
	here.Add(1)
	all.Wait()
	closeWindow()
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: centrifugo GOROUTINES ADDITIONS [apart]")
		os.Exit(2)
	}
	goroutines, _ := strconv.Atoi(os.Args[1])
	additions, _ := strconv.Atoi(os.Args[2])
	sum := int64(0)
	if len(os.Args) > 3 {
		counters := make([]wideCounter, goroutines)
		meet(goroutines, func(me int) {
			for i := 0; i < additions; i++ {
				atomic.AddInt64(&counters[me].value, 1)
			}
		})
		for i := range counters {
			sum += counters[i].value
		}
	} else {
		counters := make([]counter, goroutines)
		meet(goroutines, func(me int) {
			for i := 0; i < additions; i++ {
				atomic.AddInt64(&counters[me].value, 1)
			}
		})
		for i := range counters {
			sum += counters[i].value
		}
	}
	fmt.Println(sum)
}
