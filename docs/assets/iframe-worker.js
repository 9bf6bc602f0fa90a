// A browser gives no worker to a page that was opened from the disk. The search does its work in a hidden frame then.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.documentElement.appendChild(frame);
      this.inside = frame.contentWindow;
      const load = (source) => new Promise((done, fail) => {
        const script = this.inside.document.createElement("script");
        script.onload = done;
        script.onerror = fail;
        script.src = source;
        this.inside.document.head.appendChild(script);
      });
      this.inside.importScripts = (...sources) => sources.reduce((before, s) => before.then(() => load(s)), Promise.resolve());
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.ready = load(String(url));
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data })));
    }
  };
}
