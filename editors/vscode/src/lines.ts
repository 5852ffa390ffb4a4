// Which lines of compiled code come from which line of a program, in both directions.

/** Source line, first and last line of compiled code; all count from 1, as the server tells them. */
export type Origin = readonly [source: number, first: number, last: number];

/** A range of lines, first and last, that count from 0. */
export type Lines = readonly [first: number, last: number];

/** Tells whether a value has the shape of the field `lines` of a result. */
export function areOrigins(value: unknown): value is Origin[] {
  return (
    Array.isArray(value) &&
    value.every((row) => Array.isArray(row) && row.length === 3 && row.every((part) => Number.isInteger(part) && part > 0))
  );
}

/** The lines of a compiled text and those of its source; all lines count from 0. */
export class LineMap {
  private readonly targets = new Map<number, Lines[]>();
  private readonly sources: Origin[];

  constructor(origins: readonly Origin[]) {
    this.sources = [...origins].sort((a, b) => a[1] - b[1]);
    for (const [source, first, last] of this.sources) {
      const known = this.targets.get(source - 1) ?? [];
      known.push([first - 1, last - 1]);
      this.targets.set(source - 1, known);
    }
  }

  /** Returns the ranges of compiled lines that come from a source line. */
  compiled(line: number): readonly Lines[] {
    return this.targets.get(line) ?? [];
  }

  /** Returns the source line of a compiled line. */
  source(line: number): number | undefined {
    let [low, high] = [0, this.sources.length - 1];
    while (low <= high) {
      const middle = (low + high) >> 1;
      const [source, first, last] = this.sources[middle]!;
      if (line + 1 < first) {
        high = middle - 1;
      } else if (line + 1 > last) {
        low = middle + 1;
      } else {
        return source - 1;
      }
    }
    return undefined;
  }

  /** Returns the source lines that have compiled lines. */
  get sourceLines(): number[] {
    return [...this.targets.keys()].sort((a, b) => a - b);
  }
}

/** What is to be highlighted in both texts, and the lines to scroll to in the one without the cursor. */
export interface Highlight {
  source: readonly Lines[];
  compiled: readonly Lines[];
  reveal: Lines | undefined;
}

/** Returns what belongs to the line of the cursor, in the source or in the compiled text; undefined if nothing does. */
export function highlight(map: LineMap, side: "source" | "compiled", line: number): Highlight | undefined {
  const source = side === "source" ? line : map.source(line);
  const compiled = source === undefined ? [] : map.compiled(source);
  if (source === undefined || compiled.length === 0) {
    return undefined;
  }
  const own: Lines = [source, source];
  return { source: [own], compiled, reveal: side === "source" ? compiled[0] : own };
}
