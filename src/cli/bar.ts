const LONGEST_BAR = 30;
const SHORTEST_BAR = 8;

/**
 * Returns a progress bar for `share` (0 to 1) with `parts` behind it. Where the line is too long, parts that contain a
 * word of `dropOrder` are dropped, in that order.
 */
export function barLine(share: number, parts: readonly string[], dropOrder: readonly string[], width: number): string {
  // The last column stays free: writing it would wrap on some terminals.
  const room = width - 1;
  const kept = [...parts];
  for (const word of dropOrder) {
    if (kept.join('  ').length <= room) break;
    const index = kept.findIndex((part) => part.includes(word));
    if (index >= 0) kept.splice(index, 1);
  }
  const text = kept.join('  ');
  const barRoom = Math.min(LONGEST_BAR, room - text.length - 3);
  if (barRoom < SHORTEST_BAR) return text.slice(0, Math.max(0, room));
  const filled = Math.floor(share * barRoom);
  return `[${'#'.repeat(filled)}${'.'.repeat(barRoom - filled)}] ${text}`;
}

/** Returns a whole number with separators between thousands. */
export function countText(value: number): string {
  return Math.round(value).toLocaleString('en');
}

/** Returns a percentage, rounded down so that 100 % means done, and padded to the width of "100%". */
export function percentText(share: number): string {
  return `${Math.floor(share * 100)}%`.padStart(4);
}
