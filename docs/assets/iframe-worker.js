// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
// Browsers start no worker for a page that was opened from a file. The search of the site is one. So its
// script runs in a hidden frame instead, with the two functions of a worker that it uses.
if (location.protocol === "file:") {
	window.Worker = class extends EventTarget {
		constructor(url) {
			super();
			this.waiting = [];
			this.frame = document.createElement("iframe");
			this.frame.hidden = true;
			document.body.append(this.frame);
			const inside = this.frame.contentWindow;
			inside.document.open();
			inside.document.write("<!DOCTYPE html><title>search</title><body></body>");
			inside.document.close();
			inside.postMessage = (data) =>
				this.dispatchEvent(new MessageEvent("message", { data }));
			const script = inside.document.createElement("script");
			script.onload = () => {
				const waiting = this.waiting;
				this.waiting = null;
				for (const data of waiting)
					this.postMessage(data);
			};
			script.src = new URL(url, location.href).href;
			inside.document.body.append(script);
		}
		postMessage(data) {
			if (this.waiting)
				this.waiting.push(data);
			else
				this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
		}
		terminate() {
			this.frame.remove();
		}
	};
}
