// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * The kernel owns the files of signalfd(), but does not know the signals that this library holds
 * back for a thread. So the mask of each such file contains one more signal, FLAG. Before the
 * kernel checks files for a thread, this library makes FLAG pending if it holds a signal of such a
 * file for the thread. So poll(), select() and epoll need no code of their own.
 */
#include "files.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "masks.h"
#include "pass.h"
#include "real.h"

#define FLAG  64 /* the last signal: no program that uses signalfd() is known to use it */
#define FILES 1024u

static struct file {
	int number; /* file number + 1; 0: a free slot */
	uint64_t set;
} files[FILES];
static uint64_t sets; /* the union of the sets of all files */
static bool flagged;

static void flag(bool on)
{
	const struct timespec now = { 0, 0 };
	uint64_t set = masks_bit(FLAG);

	if (on == flagged)
		return;
	flagged = on;
	if (on)
		KERNEL(SYS_tgkill, exact.pid, exact.threads[0]->tid, FLAG);
	else
		KERNEL(SYS_rt_sigtimedwait, &set, NULL, &now, sizeof(set));
}

static struct file *file_of(int number)
{
	for (struct file *f = files; f < files + FILES && number >= 0; f++)
		if (f->number == number + 1)
			return f;
	return NULL;
}

static struct file *place(void)
{
	for (struct file *f = files; f < files + FILES; f++)
		if (!f->number)
			return f;
	return NULL;
}

void files_hide(void)
{
	flag(false);
}

void files_look(void)
{
	if (sets)
		flag(masks_sent(sets));
}

long files_make(int number, const uint64_t *set, int flags)
{
	struct file *f = number < 0 ? place() : file_of(number);
	uint64_t asked = *set | (f ? masks_bit(FLAG) : 0);
	long made;

	if (!sets)
		masks_block(masks_bit(FLAG));
	made = KERNEL(SYS_signalfd4, number, &asked, sizeof(asked), flags);
	if (made < 0 || !f)
		return made < 0 ? -errno : made;
	*f = (struct file){ (int)made + 1, *set };
	sets |= *set;
	return made;
}

void files_closed(int number)
{
	struct file *f = sets ? file_of(number) : NULL;

	if (!f)
		return;
	*f = (struct file){ 0, 0 };
	sets = 0;
	for (f = files; f < files + FILES; f++)
		sets |= f->set;
	if (!sets)
		flag(false);
}

void files_copied(int from, int to)
{
	struct file *f = sets ? file_of(from) : NULL, *into = place();

	if (f && into)
		*into = (struct file){ to + 1, f->set };
}

bool files_have(int number)
{
	return sets && file_of(number);
}

static struct signalfd_siginfo told(const siginfo_t *info)
{
	struct signalfd_siginfo to = { .ssi_signo = (uint32_t)info->si_signo,
				       .ssi_errno = info->si_errno,
				       .ssi_code = info->si_code,
				       .ssi_pid = (uint32_t)info->si_pid,
				       .ssi_uid = info->si_uid,
				       .ssi_int = info->si_value.sival_int,
				       .ssi_ptr = (uint64_t)(uintptr_t)info->si_value.sival_ptr };

	if (info->si_code == SI_TIMER) {
		to.ssi_tid = to.ssi_pid;
		to.ssi_overrun = to.ssi_uid;
		to.ssi_pid = to.ssi_uid = 0;
	}
	return to;
}

/* Does the kernel have a signal for the file besides FLAG? */
static bool kernel_has(int number)
{
	struct pollfd p = { .fd = number, .events = POLLIN };

	flag(false);
	return PASS(REAL(poll)(&p, 1, 0)) > 0;
}

ssize_t files_take(int number, void *into, size_t size, bool waits)
{
	struct signalfd_siginfo one;
	siginfo_t info;
	ssize_t done = 0;

	if (size < sizeof(one)) {
		errno = EINVAL;
		return -1;
	}
	while (done + sizeof(one) <= size && masks_take(file_of(number)->set, &info)) {
		one = told(&info);
		memcpy((char *)into + done, &one, sizeof(one));
		done += (ssize_t)sizeof(one);
	}
	/* This read does not wait, since the kernel has a signal or the call must not wait. */
	if (done + sizeof(one) <= size && (kernel_has(number) || !(done || waits))) {
		ssize_t more = PASS(REAL(read)(number, (char *)into + done, size - (size_t)done));

		if (more < 0 && !done)
			return more;
		done += more > 0 ? more : 0;
	}
	return done;
}
