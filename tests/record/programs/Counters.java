// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * Counters THREADS TIMES: each thread adds to its own element of an AtomicLongArray.
 *
 *   javac -d . Counters.java
 *   ./schedshard c2c record --machine epyc-9654-2s --placement scatter --cpus 32 -- \
 *           java -Xmx64m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp . Counters 8 5000
 */
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicLongArray;

public class Counters {
	public static void main(String[] words) throws Exception {
		int threads = Integer.parseInt(words[0]), times = Integer.parseInt(words[1]);
		AtomicLongArray counts = new AtomicLongArray(threads);
		CyclicBarrier ready = new CyclicBarrier(threads);
		Thread[] all = new Thread[threads];
		for (int i = 0; i < threads; i++) {
			int me = i;
			all[i] = new Thread(() -> {
				try {
					ready.await();
				} catch (Exception e) {
					throw new IllegalStateException(e);
				}
				for (int k = 0; k < times; k++)
					counts.incrementAndGet(me);
			});
			all[i].start();
		}
		long sum = 0;
		for (int i = 0; i < threads; i++) {
			all[i].join();
			sum += counts.get(i);
		}
		System.out.println(sum);
	}
}
