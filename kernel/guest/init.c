// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The first process of the guest. It mounts what the tests need, runs the tests of /etc/plan one
 * after the other, reports in KTAP, and powers off.
 *
 * All output goes through /dev/kmsg, one record per line, and nothing through the console device.
 * The kernel prints a record as a whole. So lines of a test, of the report and of the kernel do not
 * cut each other. They appear in the order in which they were written. A reader of the log can
 * therefore tell during which test a kernel complained; init searches for no messages.
 *
 * A test ends when its first process has ended, or when its time is over. Then init kills and reaps
 * every process that is left, so that no test runs into the next one. (kill(-1) of process 1
 * reaches all processes but itself.) A process survives only if the kernel has forgotten it, asleep
 * or waiting for a CPU. init then describes the process, and runs no other test.
 *
 * A line of the plan is a test: name, time limit in seconds and arguments, separated by tabs.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND	  1000000000ull
#define MAX_TESTS 128
#define MAX_ARGS  32
#define CHECK	  "/sys/kernel/debug/schedshard/check"
/* A record of /dev/kmsg may have 1,024 bytes with its prefix; the kernel refuses longer writes. */
#define LINE 800
/* Interval of a sign of life, for readers of the log. */
#define HEARTBEAT (20 * SECOND)

struct test {
	char *name;
	unsigned int seconds;
	char *argv[MAX_ARGS + 1];
};

/* Counters of the kernel's own check of its sharded state, if the kernel has it. */
struct check {
	bool there;
	unsigned long long errors, checks;
};

static int kmsg = -1;

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	char line[LINE + 32];
	va_list args;
	int length;

	/* Level 5, notice: shown on the console whatever the level of the boot is. */
	memcpy(line, "<5>", 3);
	va_start(args, format);
	length = vsnprintf(line + 3, LINE, format,
			   args); /* NOLINT(clang-analyzer-valist.Uninitialized) */
	va_end(args);
	if (length < 0)
		return;
	length = length < LINE ? length : LINE - 1;
	if (kmsg < 0 || write(kmsg, line, (size_t)length + 3) < 0)
		dprintf(STDOUT_FILENO, "%s\n", line + 3);
}

static void make_mount(const char *type, const char *path)
{
	mkdir(path, 0755);
	if (mount(type, path, type, 0, NULL) < 0 && errno != EBUSY)
		say("# no %s on %s: %s", type, path, strerror(errno));
}

/* Redis and its benchmark talk over 127.0.0.1. */
static void loopback_up(void)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	request.ifr_flags = IFF_UP | IFF_RUNNING;
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		say("# no loopback: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
}

static void prepare(void)
{
	static const struct rlimit files = { 65536, 65536 };
	int null;

	make_mount("proc", "/proc");
	make_mount("sysfs", "/sys");
	make_mount("devtmpfs", "/dev");
	kmsg = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	/* The archive may contain the program to record there; a mount would hide it. */
	if (access("/tmp", F_OK))
		make_mount("tmpfs", "/tmp");
	make_mount("tmpfs", "/dev/shm");
	make_mount("debugfs", "/sys/kernel/debug");
	make_mount("cgroup2", "/sys/fs/cgroup");
	loopback_up();
	setrlimit(RLIMIT_NOFILE, &files);
	setenv("PATH", "/bin:/usr/bin:/sbin:/usr/sbin", 1);
	setenv("HOME", "/tmp", 1);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null >= 0)
		dup2(null, STDIN_FILENO);
}

/* Number of different last-level caches among the online CPUs; 0: sysfs shows no L3. */
static unsigned int count_llcs(const struct cpu_list *cpus)
{
	static char seen[GUEST_CPUS][64];
	unsigned int nr = 0;

	for (unsigned int i = 0; i < cpus->nr; i++) {
		char path[128], list[64];
		unsigned int known = 0;

		snprintf(path, sizeof(path),
			 "/sys/devices/system/cpu/cpu%d/cache/index3/shared_cpu_list",
			 cpus->cpu[i]);
		if (read_text(path, list, sizeof(list)) <= 0)
			continue;
		while (known < nr && strcmp(seen[known], list))
			known++;
		if (known == nr)
			memcpy(seen[nr++], list, sizeof(list));
	}
	return nr;
}

static void report_machine(void)
{
	char nodes_text[256];
	struct cpu_list cpus, nodes = { .nr = 1 };
	struct utsname name;

	online_cpus(&cpus);
	if (read_text("/sys/devices/system/node/online", nodes_text, sizeof(nodes_text)) > 0)
		parse_cpu_list(nodes_text, &nodes);
	uname(&name);
	say("# guest release %s", name.release);
	say("# guest version %s", name.version);
	say("# guest cpus %u nodes %u llcs %u", cpus.nr, nodes.nr, count_llcs(&cpus));
}

static struct check read_check(void)
{
	struct check check = { 0 };
	char text[256];

	if (read_text(CHECK, text, sizeof(text)) > 0)
		check.there =
			sscanf(text, "errors %llu checks %llu", &check.errors, &check.checks) == 2;
	return check;
}

/* Make the kernel check its shards from now on, ten times per second and at every update. */
static void start_checks(void)
{
	if (access(CHECK, W_OK) == 0 && write_text(CHECK, "1") < 0)
		say("# no checks: %s", strerror(errno));
}

/* All findings of the check: only the first of each kind is in the kernel's log. */
static void report_check(const struct test *test)
{
	char text[4096], *state = NULL;

	if (read_text(CHECK, text, sizeof(text)) <= 0)
		return;
	for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state))
		say("# %s: check: %s", test->name, line);
}

/* Print whole lines of a test's output; an incomplete last line stays in the buffer. */
static size_t pass_on(const char *name, char *text, size_t used, bool all)
{
	size_t start = 0;

	for (size_t i = 0; i < used; i++) {
		if (text[i] != '\n' && text[i] != '\r' && i - start < LINE / 2)
			continue;
		if (i > start)
			say("# %s: %.*s", name, (int)(i - start), text + start);
		start = i + (text[i] == '\n' || text[i] == '\r');
	}
	if (all && used > start) {
		say("# %s: %.*s", name, (int)(used - start), text + start);
		start = used;
	}
	memmove(text, text + start, used - start);
	return used - start;
}

static pid_t start_test(const struct test *test, int *output)
{
	int pipes[2];
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		setsid();
		dup2(pipes[1], STDOUT_FILENO);
		dup2(pipes[1], STDERR_FILENO);
		execv(test->argv[0], test->argv);
		dprintf(STDERR_FILENO, "cannot run %s: %s\n", test->argv[0], strerror(errno));
		_exit(127);
	}
	close(pipes[1]);
	if (pid < 0)
		close(pipes[0]);
	else
		*output = pipes[0];
	return pid;
}

/* Processes that are left: what each is, its state, and where it may run. */
static void report_left(const struct test *test)
{
	static const char *const keys[] = { "State:", "Cpus_allowed_list:" };
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	while (proc && (entry = readdir(proc))) {
		char path[300], text[8192], words[256] = "";

		if (atoi(entry->d_name) < 2 || getsid(atoi(entry->d_name)) <= 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%s/status", entry->d_name);
		read_text(path, text, sizeof(text));
		for (unsigned int i = 0; i < 2; i++) {
			const char *found = strstr(text, keys[i]);
			size_t used = strlen(words);

			if (found)
				snprintf(words + used, sizeof(words) - used, " %.*s",
					 (int)strcspn(found, "\n"), found);
		}
		snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
		read_text(path, text, sizeof(text));
		say("# %s: left: %.100s%s", test->name, text, words);
	}
	if (proc)
		closedir(proc);
}

/* End all other processes. Return: false if one did not end within 10 s. */
static bool kill_all(const struct test *test)
{
	uint64_t until = now_ns() + 10 * SECOND;

	kill(-1, SIGKILL);
	for (;;) {
		pid_t pid = waitpid(-1, NULL, WNOHANG);

		if (pid < 0)
			return true;
		if (pid == 0 && now_ns() > until)
			break;
		if (pid == 0)
			sleep_ns(SECOND / 100);
	}
	report_left(test);
	/* All tasks, before anything else changes them. */
	write_text("/proc/sysrq-trigger", "t");
	return false;
}

/* Follow a test to its end or to the end of its time; returns its wait status, -1: killed. */
static int follow(const struct test *test, pid_t pid, int output)
{
	static char text[LINE + 1];
	uint64_t start = now_ns(), end = start + test->seconds * SECOND, beat = start + HEARTBEAT;
	struct pollfd ready = { .fd = output, .events = POLLIN };
	size_t used = 0;
	int status = -1;

	for (;;) {
		uint64_t now = now_ns();
		ssize_t got;

		if (waitpid(pid, &status, WNOHANG) == pid)
			break;
		status = -1;
		if (now >= end) {
			write_text("/proc/sysrq-trigger", "w");
			write_text("/proc/sysrq-trigger", "l");
			break;
		}
		if (now >= beat) {
			say("# alive %s %llu s", test->name,
			    (unsigned long long)((now - start) / SECOND));
			beat = now + HEARTBEAT;
		}
		if (poll(&ready, 1, 200) > 0) {
			got = read(output, text + used, LINE - used);
			if (got > 0)
				used = pass_on(test->name, text, used + (size_t)got, false);
			else
				sleep_ns(SECOND / 10);
		}
	}
	kill(-pid, SIGKILL);
	fcntl(output, F_SETFL, O_NONBLOCK);
	for (;;) {
		ssize_t got = read(output, text + used, LINE - used);

		if (got <= 0)
			break;
		used = pass_on(test->name, text, used + (size_t)got, false);
	}
	pass_on(test->name, text, used, true);
	return status;
}

static void report_result(const struct test *test, unsigned int number, int status)
{
	if (status == -1)
		say("not ok %u %s # TIMEOUT killed after %u s", number, test->name, test->seconds);
	else if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		say("ok %u %s", number, test->name);
	else if (WIFEXITED(status) && WEXITSTATUS(status) == 4)
		/* As in the kernel's own tests, 4: this machine cannot run the test. */
		say("ok %u %s # SKIP", number, test->name);
	else if (WIFEXITED(status))
		say("not ok %u %s # exit status %d", number, test->name, WEXITSTATUS(status));
	else
		say("not ok %u %s # %s", number, test->name, strsignal(WTERMSIG(status)));
}

/* Return: false if the machine cannot run another test. */
static bool run_test(const struct test *test, unsigned int number)
{
	struct check before = read_check(), after;
	uint64_t start = now_ns();
	int output = -1, status;
	bool clean;
	pid_t pid;

	say("# begin %u %s", number, test->name);
	pid = start_test(test, &output);
	if (pid < 0) {
		say("not ok %u %s # cannot start: %s", number, test->name, strerror(errno));
		return true;
	}
	status = follow(test, pid, output);
	close(output);
	clean = kill_all(test);
	after = read_check();
	if (after.there) {
		say("# check errors %llu checks %llu", after.errors - before.errors,
		    after.checks - before.checks);
		if (after.errors != before.errors) {
			report_check(test);
			status = status == 0 ? 0x100 : status;
		}
	}
	say("# time %s %llu ms", test->name, (unsigned long long)((now_ns() - start) / 1000000));
	if (clean)
		report_result(test, number, status);
	else
		say("not ok %u %s # some processes cannot be killed", number, test->name);
	return clean;
}

/* Cut the plan into tests, in place. Return: their number, or -1 after a message. */
static int read_plan(char *text, struct test *tests)
{
	char *line_state, *field_state;
	int nr = 0;

	for (char *line = strtok_r(text, "\n", &line_state); line;
	     line = strtok_r(NULL, "\n", &line_state)) {
		struct test *test = &tests[nr];
		char *seconds;
		int args = 0;

		if (nr == MAX_TESTS)
			return -1;
		test->name = strtok_r(line, "\t", &field_state);
		seconds = strtok_r(NULL, "\t", &field_state);
		if (!test->name || !seconds)
			return -1;
		test->seconds = (unsigned int)atoi(seconds);
		while (args < MAX_ARGS && (test->argv[args] = strtok_r(NULL, "\t", &field_state)))
			args++;
		if (!args || !test->seconds)
			return -1;
		nr++;
	}
	return nr;
}

int main(void)
{
	static char plan[32768];
	static struct test tests[MAX_TESTS];
	int nr = 0;

	prepare();
	report_machine();
	start_checks();
	if (read_text("/etc/plan", plan, sizeof(plan)) >= 0)
		nr = read_plan(plan, tests);
	say("KTAP version 1");
	if (nr < 0) {
		say("Bail out! /etc/plan is not a list of tests");
	} else {
		say("1..%d", nr);
		for (int i = 0; i < nr; i++) {
			if (run_test(&tests[i], (unsigned int)i + 1))
				continue;
			if (i + 1 < nr)
				say("Bail out! the guest is not fit for another test");
			break;
		}
		say("# guest done");
	}
	sync();
	reboot(RB_POWER_OFF);
	/* Without ACPI's power-off; the emulator's options make a reboot end the machine too. */
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}
