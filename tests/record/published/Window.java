// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntConsumer;

/** Threads that begin their work together; marks (window.c) open and close the window around it. */
final class Window {
	static {
		System.load(System.getProperty("window"));
	}

	private static native void open();

	private static native void close();

	/** Does the work twice, because the virtual machine compiles it the first time. */
	static void meet(int threads, IntConsumer work) throws Exception {
		CyclicBarrier ready = new CyclicBarrier(threads);
		CyclicBarrier warm = new CyclicBarrier(threads);
		AtomicInteger here = new AtomicInteger();
		CyclicBarrier done = new CyclicBarrier(threads, Window::close);
		Thread[] all = new Thread[threads];
		for (int i = 0; i < threads; i++) {
			int me = i;
			all[i] = new Thread(() -> {
				try {
					ready.await();
					for (int k = 0; k < 20; k++)
						work.accept(me);
					warm.await();
					if (here.incrementAndGet() == threads) {
						open();
						here.incrementAndGet();
					}
					while (here.get() <= threads)
						Thread.onSpinWait();
					work.accept(me);
					done.await();
				} catch (Exception e) {
					throw new IllegalStateException(e);
				}
			});
			all[i].start();
		}
		for (Thread each : all)
			each.join();
	}
}
