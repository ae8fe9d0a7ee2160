// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* A test compiles this file for its debug information, and contains its lines and offsets. */
struct inner {
	int a;
	unsigned short b[3];
};

typedef struct {
	long plain;
	struct inner inner[2];
	union {
		char letter;
		double number;
	};
	unsigned char grid[2][3];
} named;

struct open_ended {
	unsigned long head;
	unsigned long word[];
};

struct line {
	unsigned long word[8];
};

static inline __attribute__((always_inline)) long add(volatile long *p)
{
	return ++*p;
}

__attribute__((noinline)) long count(volatile long *p)
{
	return add(p);
}

int main(void)
{
	static named n;
	static struct line l[4];
	static struct open_ended o;
	volatile long x = n.plain + n.inner[0].a + (long)l[0].word[0] + (long)o.head;

	return (int)count(&x);
}
