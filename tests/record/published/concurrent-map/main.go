// SPDX-License-Identifier: (MIT OR GPL-2.0-only)

// Shards lets two goroutines look up keys in one map, each in its own shard. The shards are
// allocated in a loop, as in concurrent-map, and two of them share a line. With "apart" as the
// second word each shard has its own lines.
//
//	shards OPERATIONS [apart]
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"unsafe"
)

type shard struct {
	items map[string]int
	lock  sync.RWMutex
}

type wideShard struct {
	shard
	_ [128 - 32]byte
}

func openWindow()
func closeWindow()

func (s *shard) get(key string) (int, bool) {
	s.lock.RLock()
	value, ok := s.items[key]
	s.lock.RUnlock()
	return value, ok
}

func line(of *shard) uintptr {
	return uintptr(unsafe.Pointer(of)) / 64
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: shards OPERATIONS [apart]")
		os.Exit(2)
	}
	operations, _ := strconv.Atoi(os.Args[1])
	var of [2]*shard
	// Whether two successive shards share a line depends on where the first one begins.
	for near := false; !near; near = len(os.Args) > 2 || line(of[0]) == line(of[1]) {
		for i := range of {
			if len(os.Args) > 2 {
				of[i] = &new(wideShard).shard
			} else {
				of[i] = new(shard)
			}
			of[i].items = map[string]int{"key1": 1, "key2": 2}
		}
	}
	var here, found atomic.Int64
	var all sync.WaitGroup
	for i, key := range []string{"key1", "key2"} {
		all.Add(1)
		go func(mine *shard, key string) {
			runtime.LockOSThread()
			here.Add(1)
			for here.Load() < 3 {
				runtime.Gosched()
			}
			sum := 0
			for k := 0; k < operations; k++ {
				if value, ok := mine.get(key); ok {
					sum += value
				}
			}
			found.Add(int64(sum))
			all.Done()
		}(of[i], key)
	}
	for here.Load() < 2 {
		runtime.Gosched()
	}
	openWindow()
	here.Add(1)
	all.Wait()
	closeWindow()
	fmt.Println(found.Load())
}
