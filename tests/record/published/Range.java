// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

/**
 * Range THREADS TIMES [apart]: threads take the next number of a range, as in SkyWalking's buffer.
 * The number lies beside the range's ends. "apart": it lies in its own array.
 */
public final class Range {
	private static final AtomicIntegerFieldUpdater<Range> VALUE =
		AtomicIntegerFieldUpdater.newUpdater(Range.class, "value");

	private final int start = 0, end;
	private volatile int value;
	private final AtomicIntegerArray apart = new AtomicIntegerArray(31);

	private Range(int end) {
		this.end = end;
	}

	private int near() {
		int next = VALUE.incrementAndGet(this);
		return next > end && VALUE.compareAndSet(this, next, start) ? end : next;
	}

	private int far() {
		int next = apart.incrementAndGet(15);
		return next > end && apart.compareAndSet(15, next, start) ? end : next;
	}

	public static void main(String[] words) throws Exception {
		int threads = Integer.parseInt(words[0]), times = Integer.parseInt(words[1]);
		Range range = new Range(1000);
		long[] sums = new long[threads * 16];
		boolean far = words.length > 2;
		Window.meet(threads, me -> {
			long sum = 0;
			for (int i = 0; i < times; i++)
				sum += far ? range.far() : range.near();
			sums[me * 16] += sum;
		});
		System.out.println(sums[0] > 0);
	}
}
