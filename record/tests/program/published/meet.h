/* SPDX-License-Identifier: (MIT OR GPL-2.0-only) */
/*
 * meet.h - threads that begin their work together; marks open and close the window around it.
 */
#ifndef PUBLISHED_MEET_H
#define PUBLISHED_MEET_H

#include <thread>
#include <vector>

#include <pthread.h>

#include "c2c-mark.h"

template <typename Work> void meet(long threads, Work work)
{
	std::vector<std::thread> all;
	pthread_barrier_t ready;

	pthread_barrier_init(&ready, nullptr, threads + 1);
	for (long i = 0; i < threads; i++)
		all.emplace_back([&, i] {
			pthread_barrier_wait(&ready);
			work(i);
		});
	c2c_open();
	pthread_barrier_wait(&ready);
	for (std::thread &each : all)
		each.join();
	c2c_close();
}

#endif
