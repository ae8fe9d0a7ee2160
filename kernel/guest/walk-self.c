// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * walk-self SECONDS: counts the interrupts that a push walk makes a CPU send to itself, in the
 * scenario of Linux's commit 94894c9c477e. It needs push walks (push-ipi.sh).
 *
 *   CPU A    a task copies a table of a million files under a spinlock (unshare(CLONE_FILES)), so
 *            it is in a section of the kernel that cannot be preempted; two tasks wait behind it
 *   CPU B    a task keeps both waiting tasks from B, the only other CPU that they may use; its
 *            priority drops step by step to FIFO 40, again and again
 *   others   the priority of a task drops from FIFO 50 to a normal one in the same way
 *
 * The first waiting task (FIFO 30) outranks the task in the section. So a push on A only asks for a
 * reschedule, and A stays overloaded. Each other CPU whose priority drops asks for a round of the
 * walk, and the walk leads back to A. Without that commit's rule A then sends itself an interrupt.
 * If another priority drops before A has handled this interrupt, A sends another one, and so on.
 *
 * The task in the section is in turn a normal one, as in the commit, and one of FIFO 20. The second
 * waiting task has FIFO 10, so it outranks only the normal one. Patch 01 ends the overload of A if
 * both waiting tasks outrank the task in the section.
 *
 * A section counts if both tasks waited for half of it. With PREEMPT_RT sections can be preempted,
 * and none counts. The priorities stop dropping LIMIT_SECONDS after a section began, because a
 * section that still lasts by then may go on for very long.
 *
 * With patch 06 no walk starts here, because the other CPUs may not run the tasks that wait on A.
 * So the variant broken-self starts a walk for every request.
 *
 * By the rule no walk makes a CPU send itself an interrupt. But RCU and printk() sometimes do, so
 * one interrupt for each section is allowed.
 *
 * Exit status: 0 if A sent itself no more interrupts than there were sections, of either kind; 1 if
 * it sent more. 2 if a task or the table was refused, or no priority dropped. 4 (skip) if there are
 * fewer than four CPUs, interrupts are not counted, or no section counts.
 */
#define _GNU_SOURCE
#include "guest.h"
#include "threads.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MSEC	      1000000ull
#define SKIP	      4
#define FILES	      1048576 /* the default of fs.nr_open */
#define NAP	      MSEC
#define LIMIT_SECONDS 10

/* Counters of CPU A. */
struct interrupts {
	uint64_t itself, others, timer;
};

static const struct {
	const char *name; /* as /proc/interrupts describes a line */
	size_t at;
} lines[] = {
	{ "IRQ work interrupts", offsetof(struct interrupts, itself) },
	{ "Function call interrupts", offsetof(struct interrupts, others) },
	{ "Local timer interrupts", offsetof(struct interrupts, timer) },
	{ "arch_timer", offsetof(struct interrupts, timer) },
};

/* A task that wakes on A again and again, and waits there during a section. */
struct waiter {
	int priority;
	_Atomic uint64_t longest; /* how late the task was at most, ns */
};

/* A task whose priority drops step by step, again and again; 0: a normal task. */
struct dropper {
	int high, low;
	_Atomic uint64_t drops;
};

struct section {
	struct interrupts interrupts;
	uint64_t ns, drops;
};

/* All sections of one kind. */
struct figures {
	unsigned int tried, counted, outlasted; /* outlasted: LIMIT_SECONDS */
	struct interrupts interrupts;
	uint64_t ns, drops, most; /* most: interrupts of A to itself in one section */
};

static struct waiter first = { .priority = 30 }, second = { .priority = 10 };
static struct dropper droppers[GUEST_CPUS];
static unsigned int nr_droppers;
static _Atomic bool calm; /* no priority drops */

/* The second number of a line of /proc/interrupts: A is the second CPU that is online. */
static uint64_t of_a(const char *line)
{
	char *word = strchr(line, ':');

	if (!word)
		return 0;
	strtoull(word + 1, &word, 10);
	return strtoull(word, NULL, 10);
}

/* Return: whether the kernel counts interrupts of a CPU to itself. */
static bool read_interrupts(struct interrupts *now)
{
	static char line[16384];
	FILE *file = fopen("/proc/interrupts", "re");
	bool found = false;

	*now = (struct interrupts){ 0 };
	while (file && fgets(line, sizeof(line), file)) {
		for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
			if (!strstr(line, lines[i].name))
				continue;
			*(uint64_t *)((char *)now + lines[i].at) = of_a(line);
			found = found || lines[i].at == offsetof(struct interrupts, itself);
		}
	}
	if (file)
		fclose(file);
	return found;
}

static uint64_t all_drops(void)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < nr_droppers; i++)
		sum += atomic_load(&droppers[i].drops);
	return sum;
}

static void set_priority(int priority)
{
	const struct sched_param param = { .sched_priority = priority };

	if (sched_setscheduler(0, priority ? SCHED_FIFO : SCHED_OTHER, &param) < 0) {
		printf("cannot change a priority: %s\n", strerror(errno));
		exit(2);
	}
}

static void *fall(void *arg)
{
	struct dropper *self = arg;

	for (;;) {
		for (int priority = self->high; priority > self->low; priority--) {
			while (atomic_load_explicit(&calm, memory_order_relaxed))
				;
			set_priority(priority - 1);
			atomic_fetch_add_explicit(&self->drops, 1, memory_order_relaxed);
		}
		set_priority(self->high);
	}
	return NULL;
}

static void *nap(void *arg)
{
	struct waiter *self = arg;

	for (;;) {
		uint64_t due = now_ns() + NAP, late;

		sleep_ns(NAP);
		late = now_ns() - due;
		if (late > atomic_load(&self->longest))
			atomic_store(&self->longest, late);
	}
	return NULL;
}

/* A thread of its own for each section: afterwards it no longer shares the table. */
static void *enter(void *arg)
{
	struct section *section = arg;
	struct interrupts before, *after = &section->interrupts;

	read_interrupts(&before);
	section->drops = all_drops();
	section->ns = now_ns();
	if (unshare(CLONE_FILES) < 0) {
		printf("cannot copy the table of files: %s\n", strerror(errno));
		exit(2);
	}
	section->ns = now_ns() - section->ns;
	section->drops = all_drops() - section->drops;
	read_interrupts(after);
	after->itself -= before.itself;
	after->others -= before.others;
	after->timer -= before.timer;
	return NULL;
}

static void count(struct figures *figures, const struct section *section)
{
	figures->counted++;
	figures->ns += section->ns;
	figures->drops += section->drops;
	figures->interrupts.itself += section->interrupts.itself;
	figures->interrupts.others += section->interrupts.others;
	figures->interrupts.timer += section->interrupts.timer;
	if (section->interrupts.itself > figures->most)
		figures->most = section->interrupts.itself;
}

static void try_once(int priority, const cpu_set_t *only_a, struct figures *figures)
{
	struct section section;
	struct timespec until;
	pthread_t thread;

	figures->tried++;
	atomic_store(&first.longest, 0);
	atomic_store(&second.longest, 0);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += LIMIT_SECONDS;
	thread = start_thread(enter, &section, priority, only_a);
	if (pthread_timedjoin_np(thread, NULL, &until)) {
		figures->outlasted++;
		atomic_store(&calm, true);
		pthread_join(thread, NULL);
		atomic_store(&calm, false);
	}
	/* The second task runs, too, and knows how late it is. */
	sleep_ns(20 * MSEC);
	if (atomic_load(&first.longest) >= section.ns / 2 &&
	    atomic_load(&second.longest) >= section.ns / 2)
		count(figures, &section);
}

static void report(const char *what, const struct figures *f)
{
	printf("%s: %u of %u sections, %llu ms, %llu priority drops; CPU A sent itself %llu "
	       "interrupts (at most %llu in a section), got %llu of others and %llu of its timer; "
	       "%u outlasted the drops\n",
	       what, f->counted, f->tried, (unsigned long long)(f->ns / MSEC),
	       (unsigned long long)f->drops, (unsigned long long)f->interrupts.itself,
	       (unsigned long long)f->most, (unsigned long long)f->interrupts.others,
	       (unsigned long long)f->interrupts.timer, f->outlasted);
}

static void start_dropper(int cpu, int high, int low)
{
	struct dropper *self = &droppers[nr_droppers++];
	const cpu_set_t only = one_cpu(cpu);

	self->high = high;
	self->low = low;
	start_thread(fall, self, high, &only);
}

/* Make the table of files as large as it may be. */
static void fill_table(void)
{
	const struct rlimit files = { FILES, FILES };

	if (setrlimit(RLIMIT_NOFILE, &files) < 0 || dup2(STDOUT_FILENO, FILES - 1) < 0) {
		printf("no table of a million files: %s\n", strerror(errno));
		exit(2);
	}
}

int main(int argc, char **argv)
{
	unsigned int seconds = parse_seconds("walk-self", argc > 1 ? argv[1] : NULL);
	uint64_t end = now_ns() + seconds * 1000 * MSEC;
	struct figures normal = { 0 }, fifo = { 0 };
	cpu_set_t own, only_a, a_and_b;
	struct interrupts now;
	struct cpu_list cpus;

	if (online_cpus(&cpus) < 0 || cpus.nr < 4) {
		printf("fewer than four CPUs\n");
		return SKIP;
	}
	if (!read_interrupts(&now)) {
		printf("the kernel does not count interrupts of a CPU to itself\n");
		return SKIP;
	}
	fill_table();
	own = one_cpu(cpus.cpu[0]);
	only_a = a_and_b = one_cpu(cpus.cpu[1]);
	CPU_SET(cpus.cpu[2], &a_and_b);
	bind_thread(pthread_self(), &own);
	set_priority(95);
	start_dropper(cpus.cpu[0], 50, 0);
	start_dropper(cpus.cpu[2], 90, 40);
	for (unsigned int i = 3; i < cpus.nr; i++)
		start_dropper(cpus.cpu[i], 50, 0);
	start_thread(nap, &first, first.priority, &a_and_b);
	start_thread(nap, &second, second.priority, &a_and_b);
	while (now_ns() < end) {
		try_once(0, &only_a, &normal);
		try_once(20, &only_a, &fifo);
	}
	report("normal task", &normal);
	report("FIFO 20 task", &fifo);
	if (!normal.counted || !fifo.counted)
		return SKIP;
	if (!normal.drops || !fifo.drops)
		return 2;
	return normal.interrupts.itself > normal.counted || fifo.interrupts.itself > fifo.counted;
}
