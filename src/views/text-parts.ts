/** Stands in JSON for a value that changes. No text of a transaction consists of this character. */
export const HOLE = '~';

/** Returns the JSON of a value in the parts between its holes. */
export function textParts(value: unknown): readonly string[] {
  return JSON.stringify(value).split(`"${HOLE}"`);
}

/** Returns the number of characters of all parts. */
export function partsLength(parts: readonly string[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}
