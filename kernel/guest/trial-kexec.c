// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * trial-kexec KERNEL INITRD PARAMETERS: replaces the running kernel by another one, at once.
 * trial-kexec KERNEL INITRD: only loads it. Exit status 1: the running kernel refuses.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <unistd.h>

static int opened(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

int main(int argc, char **argv)
{
	const char *parameters = argc > 3 ? argv[3] : "";

	if (argc < 3)
		errx(2, "usage: trial-kexec KERNEL INITRD [PARAMETERS]");
	if (syscall(SYS_kexec_file_load, opened(argv[1]), opened(argv[2]), strlen(parameters) + 1,
		    parameters, 0UL))
		err(1, "kexec_file_load");
	if (argc == 3)
		return 0;
	sync();
	reboot(RB_KEXEC);
	err(1, "kexec");
}
