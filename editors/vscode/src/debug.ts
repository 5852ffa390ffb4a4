// Debugging: what F5 runs, and what the views of a stopped run show.

/** The arguments of a debug session, as `launch.json` writes them. */
export interface Launch {
  type: string;
  request: string;
  name: string;
  program?: string;
  [argument: string]: unknown;
}

/** A session for the open file, for F5 without a `launch.json`; unchanged if the configuration names a program. */
export function completed(configuration: Partial<Launch>, file: string | undefined): Launch | undefined {
  const program = configuration.program ?? file;
  if (program === undefined) {
    return undefined;
  }
  return { type: "tvms", request: "launch", name: "Debug this file", stopOnEntry: true, ...configuration, program };
}

/** The answer to the request `tvms/buffer`. */
export interface BufferView {
  title: string;
  table: string;
  heatMap: string;
}

/** Returns the page that shows a buffer. `heatMap` is HTML of the debug adapter, the rest is text. */
export function bufferPage({ title, table, heatMap }: BufferView): string {
  const escape = (text: string): string => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
  const policy = "default-src 'none'; style-src 'unsafe-inline'";
  return `<!DOCTYPE html><html><head><meta http-equiv="Content-Security-Policy" content="${policy}"></head>
<body><h3>${escape(title)}</h3><pre>${escape(table)}</pre>${heatMap}</body></html>`;
}

/** What `tvms/runUntil` takes: a line if the text is a number, else a condition. */
export function goal(text: string): { line: number } | { condition: string } {
  return /^\s*\d+\s*$/.test(text) ? { line: Number(text) } : { condition: text.trim() };
}
