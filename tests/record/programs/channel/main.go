// SPDX-License-Identifier: (MIT OR GPL-2.0-only)

// Channel lets goroutines take numbers from one channel and look each up in a map behind a RWMutex.
// Each goroutine adds to its own counter; the counters lie side by side.
//
//	go build -o channel .
//	./schedshard c2c record --machine epyc-9654-2s --placement scatter --cpus 8 -- channel 8 4000
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
)

type table struct {
	lock sync.RWMutex
	of   map[int]int
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: channel GOROUTINES NUMBERS")
		os.Exit(2)
	}
	goroutines, _ := strconv.Atoi(os.Args[1])
	numbers, _ := strconv.Atoi(os.Args[2])
	squares := table{of: map[int]int{}}
	for i := 0; i < 64; i++ {
		squares.of[i] = i * i
	}
	work := make(chan int, 16)
	sums := make([]atomic.Int64, goroutines)
	var all sync.WaitGroup
	for i := range sums {
		all.Add(1)
		go func(sum *atomic.Int64) {
			defer all.Done()
			for number := range work {
				squares.lock.RLock()
				square := squares.of[number%64]
				squares.lock.RUnlock()
				sum.Add(int64(square))
			}
		}(&sums[i])
	}
	for i := 0; i < numbers; i++ {
		work <- i
	}
	close(work)
	all.Wait()
	total := int64(0)
	for i := range sums {
		total += sums[i].Load()
	}
	fmt.Println(total)
}
