// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#include "toy.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "machine.h"
#include "sim.h"

static const char text[] =
	"schedshard-machine 1\nname toy\ntitle toy\nclock_ghz 1\n"
	"latency_ns smt 10\nlatency_ns llc 20\nlatency_ns node 100\n"
	"latency_ns remote 300\nlatency_ns home_remote 310\nlatency_ns memory 80\n"
	"op_cycles load_hit 4\nop_cycles store 1\nop_cycles locked 15\n"
	"op_cycles fence 12\nop_cycles store_buffer 4\nop_cycles timestamp 30\n"
	"protocol data_leg 0.4\n";

static struct machine *machine;
static struct model model;

/* The machine in its flat form: 2 packages of 2 caches of 2 cores, numbers of threads last. */
static void print(FILE *file, const char *protocol)
{
	char key[64];
	double value;
	int length;

	fputs(text, file);
	for (; sscanf(protocol, " %63s = %lf%n", key, &value, &length) == 2; protocol += length)
		fprintf(file, "protocol %s %.17g\n", key, value);
	for (int cpu = 0; cpu < 16; cpu++) {
		int core = cpu % 8;

		fprintf(file, "cpu %d %d %d %d %d %d %d\n", cpu, core / 4, core / 4, core / 2, core,
			core, cpu / 8);
	}
}

void toy_begin(const char *protocol, uint64_t seed)
{
	static uint32_t cpus[16];
	struct shard_err err;
	char path[32];
	int fd = memfd_create("toy", MFD_CLOEXEC);
	FILE *file = fdopen(fd, "w");

	CHECK(file);
	print(file, protocol);
	CHECK(!fflush(file));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (machine_load(&machine, path, &err)) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	fclose(file);
	for (uint32_t i = 0; i < 16; i++)
		cpus[i] = i;
	CHECK(!model_build(&model, machine, cpus, 16));
	CHECK(!sim_init(&model, seed));
}

struct model *toy_model(void)
{
	return &model;
}

void toy_end(void)
{
	sim_exit();
	model_free(&model);
	machine_free(machine);
}

int toy_run(void (*const *test)(void), unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		test[i]();
	printf("%u passed, 0 failed\n", n);
	return 0;
}
