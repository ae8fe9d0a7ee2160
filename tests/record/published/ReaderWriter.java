// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/**
 * ReaderWriter TIMES [apart]: one thread reads a field, and another one writes the object's next
 * field, as in a published benchmark of false sharing. "apart": 128 bytes lie between the fields.
 */
public final class ReaderWriter {
	static class Read {
		volatile long read;
	}

	static final class Near extends Read {
		volatile long written;
	}

	static class Between extends Read {
		long p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, pa, pb, pc, pd, pe, pf;
	}

	static final class Far extends Between {
		volatile long written;
	}

	public static void main(String[] words) throws Exception {
		int times = Integer.parseInt(words[0]);
		long[] seen = new long[64];
		Near near = new Near();
		Far far = new Far();
		if (words.length > 1)
			Window.meet(2, me -> {
				long sum = 0;
				for (int i = 0; i < times; i++)
					if (me == 0)
						sum += far.read;
					else
						far.written = i;
				seen[me * 32] += sum;
			});
		else
			Window.meet(2, me -> {
				long sum = 0;
				for (int i = 0; i < times; i++)
					if (me == 0)
						sum += near.read;
					else
						near.written = i;
				seen[me * 32] += sum;
			});
		System.out.println(near.written + far.written + seen[0]);
	}
}
