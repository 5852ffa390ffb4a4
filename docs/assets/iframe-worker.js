// Browsers start no workers for pages that are opened as files. Search runs in a hidden frame there, which behaves like one.
"use strict";

class FrameWorker extends EventTarget {
  constructor(url) {
    super();
    this.frame = document.createElement("iframe");
    this.frame.hidden = true;
    document.body.append(this.frame);
    const inside = this.frame.contentWindow;
    window.addEventListener("message", ({ source, data }) => {
      if (source === inside) {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        this.onmessage?.(event);
      }
    });
    inside.document.open();
    inside.document.write("<!doctype html><html><body></body></html>");
    inside.document.close();
    inside.postMessage = inside.Function("data", "parent.postMessage(data, '*')"); // its events name the frame as their source
    inside.importScripts = async (...urls) => {
      for (const each of urls) await load(inside.document, each);
    };
    this.ready = load(inside.document, String(url));
  }

  postMessage(data) {
    this.ready.then(() => {
      const inside = this.frame.contentWindow;
      inside.dispatchEvent(new inside.MessageEvent("message", { data: structuredClone(data) }));
    });
  }

  terminate() {
    this.frame.remove();
  }
}

/** Runs the script at `url` in `target`; resolves when it has run. */
function load(target, url) {
  return new Promise((resolve, reject) => {
    const script = target.createElement("script");
    script.onload = resolve;
    script.onerror = reject;
    script.src = url;
    target.body.append(script);
  });
}

if (location.protocol === "file:") window.Worker = FrameWorker;
