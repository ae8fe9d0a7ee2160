// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/* Tests how the emulator's plugin reads instructions and watch files, and its streams. */
#include "../../../model/tests/sim/check.h"

#include <string.h>

#include "insn.h"
#include "stream.h"
#include "watch.h"

static struct insn look(const char *bytes, size_t size)
{
	struct insn insn;

	insn_look(&insn, (const uint8_t *)bytes, size, 0x1000);
	return insn;
}

#define LOOK(bytes) look(bytes, sizeof(bytes) - 1)

static void locked_instructions(void)
{
	CHECK(LOOK("\xf0\x0f\xab\x07").locked);		/* lock bts %eax,(%rdi) */
	CHECK(LOOK("\xf0\x4d\x0f\xab\x02").locked);	/* lock bts %r8,(%r10): prefix, then REX */
	CHECK(LOOK("\xf0\x83\x44\x24\xfc\x00").locked); /* lock addl $0,-4(%rsp): not the stack's */
	CHECK(!LOOK("\xf0\x83\x44\x24\xfc\x00").stack);
	CHECK(LOOK("\x87\x07").locked); /* xchg %eax,(%rdi) */
	CHECK(LOOK("\x48\x87\x07").locked);
	CHECK(!LOOK("\x87\xc7").locked);	 /* xchg %eax,%edi */
	CHECK(!LOOK("\x3e\x0f\xab\x07").locked); /* LOCK patched away on one CPU */
	CHECK(!LOOK("\x48\x89\x07").locked);
	CHECK(!LOOK("\xb8\xf0\x00\x00\x00").locked); /* f0 in an operand */
}

static void stack_and_returns(void)
{
	CHECK(LOOK("\x55").stack);     /* push %rbp */
	CHECK(LOOK("\x41\x5f").stack); /* pop %r15 */
	CHECK(LOOK("\xe8\x00\x00\x00\x00").stack);
	CHECK(LOOK("\xc3").ret);
	CHECK(LOOK("\xf3\xc3").ret);
	CHECK(!LOOK("\x8b\x07").stack);
	CHECK(!LOOK("\x8b\x07").ret);
	CHECK(LOOK("\xe8\x10\x00\x00\x00").call);
	CHECK(LOOK("\xff\xd0").call);	      /* call *%rax */
	CHECK(LOOK("\x41\xff\x14\x24").call); /* call *(%r12) */
	CHECK(!LOOK("\xff\xe0").call);	      /* jmp *%rax */
	CHECK(!LOOK("\xff\x30").call);	      /* push (%rax) */
	CHECK(!LOOK("\xff").call);	      /* cut short */
	CHECK(!LOOK("\xc3").call);
}

static void jumps(void)
{
	struct insn insn = LOOK("\xe9\x10\x00\x00\x00");

	CHECK(insn.jump);
	CHECK(insn.target == 0x1015);
	insn = LOOK("\xeb\xfe");
	CHECK(insn.jump);
	CHECK(insn.target == 0x1000);
	CHECK(!LOOK("\x74\xfe").jump); /* je */
	CHECK(!LOOK("\xe9\x10").jump); /* cut short */
	CHECK(!LOOK("\xf0").jump && !look("", 0).locked);
}

static void marks(void)
{
	CHECK(LOOK("\x0f\x1f\x80\x01\xc0\xc2\x53").mark == MARK_OPEN);
	CHECK(LOOK("\x0f\x1f\x80\x02\xc0\xc2\x53").mark == MARK_CLOSE);
	CHECK(LOOK("\x0f\x1f\x80\x03\xc0\xc2\x53").mark == MARK_OPERATION);
	CHECK(LOOK("\x0f\x1f\x80\x04\xc0\xc2\x53").mark == MARK_PREPARE);
	CHECK(LOOK("\x0f\x1f\x80\x05\xc0\xc2\x53").mark == MARK_NONE);
	CHECK(LOOK("\x0f\x1f\x80\x00\x00\x00\x00").mark == MARK_NONE);
}

static int parse(struct watch *w, const char *text, struct watch_error *err)
{
	char copy[1024];

	snprintf(copy, sizeof(copy), "%s", text);
	return watch_parse(w, copy, "w", err);
}

static void watch_file(void)
{
	struct watch_error err;
	struct watch w;

	CHECK(!parse(
		&w,
		"# a comment\n\ntext 0x3000 0x4000\ntext 0x1000 0x2000\ntext 0x1800 0x2800\n"
		"function f 0x1000 0x1100\ncold f 0x9000 0x9010\n"
		"function g 0x1200 0x1210\n"
		"machine a b.toml\ncpu 3\ncpu 1\nnode 0 0x1000 1\nquantum 500\nstop\nresult r\n",
		&err));
	CHECK(w.nr_text == 2); /* two of the three touch */
	CHECK(watch_text(&w, 0x1000) && watch_text(&w, 0x27ff) && watch_text(&w, 0x3000));
	CHECK(!watch_text(&w, 0xfff) && !watch_text(&w, 0x2800) && !watch_text(&w, 0x4000));
	CHECK(w.nr_parts == 3 && w.nr_functions == 2);
	CHECK(w.part[0].entry == 0x1000 && !w.part[1].entry && w.part[2].entry == 0x1200);
	CHECK(watch_in_function(&w, 0, 0x9000) && !watch_in_function(&w, 0, 0x1200));
	CHECK(!strcmp(w.machine, "a b.toml"));
	CHECK(w.setup.nr_cpus == 2 && w.setup.cpu[0] == 3 && w.quantum == 500 && w.stop);
	watch_free(&w);
}

static void watch_file_refused(void)
{
	static const char *const wrong[][2] = {
		{ "text 5\nresult r\n", "w:1: the upper address is missing" },
		{ "text 9 5\nresult r\n", "w:1: the range from 0x9 to 0x5 is empty" },
		{ "text 0x1 0xg\nresult r\n", "w:1: the upper address is '0xg', not a number" },
		{ "text -1 5\nresult r\n", "w:1: the lower address is '-1', not a number" },
		{ "\nwatch it\n", "w:2: 'watch' is not a keyword of a watch file" },
		{ "quantum 1 2\n", "w:1: '2' is one value too many" },
		{ "cpu 1\ncpu 1\n", "w:2: CPU 1 stands for two guest CPUs" },
		{ "quantum 99999999999999999999\n",
		  "w:1: the quantum is '99999999999999999999', not a number" },
		{ "cpu 1\n", "w: no 'result' line" },
		{ "machine m\nresult r\n", "w: no 'cpu' line" },
		{ "result\n", "w:1: the path is missing" },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct watch_error err = { "" };
		struct watch w;

		CHECK(parse(&w, wrong[i][0], &err) == -1);
		if (strcmp(err.text, wrong[i][1]))
			fprintf(stderr, "%s\n%s\n", err.text, wrong[i][1]);
		CHECK(!strcmp(err.text, wrong[i][1]));
	}
}

static void stream_keeps_order(void)
{
	struct item item = { .kind = ITEM_LOAD };
	uint64_t pushed = 0, popped = 0;
	struct stream s;

	CHECK(!stream_init(&s));
	CHECK(stream_empty(&s) && !stream_pop(&s, &item));
	for (uint32_t round = 0; round < 20; round++) {
		for (uint32_t i = 0; i < STREAM_CHUNK / 2 + round * 97; i++) {
			item.instr = pushed++;
			stream_push(&s, &item);
		}
		for (uint32_t i = 0; i < STREAM_CHUNK / 3 + round * 89; i++) {
			CHECK(stream_pop(&s, &item));
			CHECK(item.instr == popped);
			popped++;
		}
	}
	while (stream_pop(&s, &item))
		CHECK(item.instr == popped++);
	CHECK(pushed == popped);
	stream_free(&s);
}

int main(void)
{
	locked_instructions();
	stack_and_returns();
	jumps();
	marks();
	watch_file();
	watch_file_refused();
	stream_keeps_order();
	return 0;
}
