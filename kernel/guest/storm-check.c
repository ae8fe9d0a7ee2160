// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The monitor of the RT storm finds late workers that the scheduler forgot.
 *
 * Lateness alone proves nothing. A worker of low priority that is bound to one CPU rightly waits
 * for as long as others run there. An emulated machine stops whenever its host does. So the monitor
 * samples a late worker ten times in a second. From /proc it reads the worker's state and allowed
 * CPUs, from debugfs what each run queue executes. A fault must show in all ten samples, or in
 * eight where a short change is allowed. Between samples there was time for a push, a pull or a
 * tick.
 *
 * A worker naps in interruptible sleeps. A late worker in state D waits for a lock in the kernel,
 * for as long as the lock's holder takes. With cache-aware scheduling a thread that leaves the
 * kernel may look for its cache, and wait there until a CPU has gone offline. The monitor reports
 * the place of such waits, but no fault.
 *
 * Of waiting workers the monitor judges only RT tasks. A normal task has no claim while RT tasks
 * run, and a deadline task out of runtime waits rightly. Workers that sleep too long are judged
 * whatever their class.
 */
#define _GNU_SOURCE
#include "storm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES 10
#define NEARLY	8
#define QUEUES	"/sys/kernel/debug/sched/debug"

/* Priorities as /proc shows them: 0 to 39 normal, -2 to -100 RT (-1 - priority), -101 deadline. */
enum { PRIO_RT = -2, PRIO_DEADLINE = -101, PRIO_IDLE = 1000 };

struct task_view {
	char state; /* as in /proc: R, S, D; 0: the task is gone */
	int priority;
	int cpu; /* the CPU on whose run queue the task is */
};

struct verdict {
	unsigned int asleep, blocked, starved;
	int cpu, running; /* last sample with a fault: its CPU, and what ran there */
};

static struct task_view look(int tid)
{
	struct task_view view = { 0 };
	char path[64], text[1024], *field;
	int priority, cpu;
	char state;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	if (read_text(path, text, sizeof(text)) <= 0)
		return view;
	/* The name, in parentheses, may hold anything. */
	field = strrchr(text, ')');
	if (field && sscanf(field,
			    ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %d"
			    " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			    "%*s %*s %*s %d",
			    &state, &priority, &cpu) == 3) {
		view.state = state;
		view.priority = priority;
		view.cpu = cpu;
	}
	return view;
}

static void allowed_cpus(int tid, struct cpu_list *list)
{
	static const char key[] = "Cpus_allowed_list:\t";
	char path[64], text[8192], *line;

	list->nr = 0;
	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	if (read_text(path, text, sizeof(text)) > 0 && (line = strstr(text, key)))
		parse_cpu_list(line + strlen(key), list);
}

/* What each CPU runs: its pid, 0 idle, -1 offline or unknown. */
static bool running_tasks(int running[GUEST_CPUS])
{
	static char line[4096];
	FILE *file = fopen(QUEUES, "re");
	int cpu = -1;

	for (int i = 0; i < GUEST_CPUS; i++)
		running[i] = -1;
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		int value;

		if (sscanf(line, "cpu#%d", &value) == 1)
			cpu = value >= 0 && value < GUEST_CPUS ? value : -1;
		else if (cpu >= 0 && sscanf(line, " .curr->pid : %d", &value) == 1)
			running[cpu] = value;
	}
	fclose(file);
	return true;
}

static int priority_of(int pid)
{
	struct task_view view;

	if (pid == 0)
		return PRIO_IDLE;
	view = look(pid);
	/* The task has ended: its priority is unknown, so it counts as the highest. */
	return view.state ? view.priority : PRIO_DEADLINE;
}

/*
 * A CPU that comes online runs its idle task meanwhile, for seconds on a busy host, and takes no
 * task before its last step.
 */
static bool is_up(int cpu)
{
	char path[80], state[32], full[32];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/hotplug/state", cpu);
	if (read_text("/sys/devices/system/cpu/cpu0/hotplug/state", full, sizeof(full)) <= 0 ||
	    read_text(path, state, sizeof(state)) <= 0)
		return true;
	return !strcmp(state, full);
}

static void sample(const struct storm_worker *worker, struct verdict *verdict)
{
	static int running[GUEST_CPUS];
	int tid = atomic_load(&worker->tid);
	struct task_view view = look(tid);
	struct cpu_list allowed;

	if (view.state == 'S' || view.state == 'D') {
		verdict->asleep += view.state == 'S';
		verdict->blocked += view.state == 'D';
		return;
	}
	if (view.state != 'R' || view.priority > PRIO_RT || view.priority <= PRIO_DEADLINE)
		return;
	if (!running_tasks(running))
		return;
	allowed_cpus(tid, &allowed);
	for (unsigned int i = 0; i < allowed.nr; i++) {
		int cpu = allowed.cpu[i];

		/* Larger is less urgent. */
		if (running[cpu] < 0 || running[cpu] == tid ||
		    priority_of(running[cpu]) <= view.priority || !is_up(cpu))
			continue;
		verdict->starved++;
		verdict->cpu = cpu;
		verdict->running = running[cpu];
		return;
	}
}

void storm_describe(struct storm *storm, unsigned int who, const char *what)
{
	const struct storm_worker *worker = &storm->worker[who];
	int tid = atomic_load(&worker->tid);
	struct task_view view = look(tid);
	uint64_t due = atomic_load(&worker->due), now = now_ns();
	struct cpu_list allowed;

	allowed_cpus(tid, &allowed);
	printf("thread %u (tid %d) %s: %llu ms late, task state %c, priority %d, worker state %d, "
	       "on CPU %d, may use %u CPUs from %d on\n",
	       who, tid, what, (unsigned long long)(now > due ? (now - due) / MSEC : 0),
	       view.state ? view.state : '-', view.priority, atomic_load(&worker->state), view.cpu,
	       allowed.nr, allowed.nr ? allowed.cpu[0] : -1);
}

/*
 * Rescue a deadline task that waits for ever while CPUs are idle. Unchanged Linux does that too,
 * once in some hundred deadline rounds: a task that leaves the class while it is throttled keeps
 * the mark, and its timer ignores it. The monitor takes the task out of the class, so that it runs
 * and the storm continues, and counts it.
 */
static bool rescue_deadline(struct storm *storm, const struct storm_worker *worker)
{
	const struct sched_param param = { .sched_priority = 1 };
	int tid = atomic_load(&worker->tid);
	struct task_view view = look(tid);

	if (view.state != 'R' || view.priority != PRIO_DEADLINE)
		return false;
	if (sched_setscheduler(tid, SCHED_FIFO, &param) == 0)
		atomic_fetch_add(&storm->forgotten, 1);
	return true;
}

static void say_blocked(int tid)
{
	char path[64], where[128];

	snprintf(path, sizeof(path), "/proc/%d/wchan", tid);
	if (read_text(path, where, sizeof(where)) > 0)
		printf("task %d is late: it waits in %s() for a second\n", tid, where);
}

/* The worker is still late: is the kernel to blame? */
static bool at_fault(struct storm *storm, unsigned int who)
{
	struct storm_worker *worker = &storm->worker[who];
	uint64_t rounds = atomic_load(&worker->rounds), due = atomic_load(&worker->due);
	struct verdict verdict = { 0 };
	const char *what;

	for (int i = 0; i < SAMPLES; i++) {
		if (atomic_load(&worker->rounds) != rounds || atomic_load(&worker->due) != due)
			return false;
		sample(worker, &verdict);
		sleep_ns(100 * MSEC);
	}
	if (atomic_load(&worker->due) != due)
		return false;
	if (rescue_deadline(storm, worker))
		return false;
	if (verdict.blocked == SAMPLES) {
		say_blocked(atomic_load(&worker->tid));
		return false;
	}
	/* A worker that waits for a lock sleeps rightly while the lock's holder waits for a CPU. */
	if (verdict.asleep == SAMPLES && atomic_load(&worker->state) == STORM_SLEEPS)
		what = "sleeps on";
	else if (verdict.starved >= NEARLY)
		what = "waits";
	else
		return false;
	storm_describe(storm, who, what);
	if (verdict.starved)
		printf("... and CPU %d ran task %d of priority %d\n", verdict.cpu, verdict.running,
		       priority_of(verdict.running));
	return true;
}

unsigned int storm_check(struct storm *storm, uint64_t limit)
{
	unsigned int faults = 0;

	for (unsigned int i = 0; i < storm->nr_threads; i++) {
		struct storm_worker *worker = &storm->worker[i];
		uint64_t due = atomic_load(&worker->due), now = now_ns();

		if (now < due + limit || atomic_load(&worker->last_due) == due ||
		    atomic_load(&worker->state) == STORM_ENDED)
			continue;
		if (at_fault(storm, i)) {
			/* One message each time that the worker is late. */
			atomic_store(&worker->last_due, due);
			faults++;
		}
	}
	return faults;
}
