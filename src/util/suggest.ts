/** Returns the candidate nearest to a mistyped word, or null if none is near. */
export function suggest(word: string, candidates: readonly string[]): string | null {
  const wanted = plain(word);
  let best: string | null = null;
  // At most a third of the letters may differ; beyond that the guess is noise.
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of candidates) {
    const name = plain(candidate);
    if (name === wanted) return candidate;
    const distance = editDistance(wanted, name);
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  if (best !== null || wanted.length < 3) return best;
  // A part of a name, as `listen` for `http.listen`.
  for (const candidate of candidates) {
    if (plain(candidate).startsWith(wanted) || plain(candidate).endsWith(wanted)) return candidate;
  }
  return null;
}

/** Returns ` (did you mean x?)`, or an empty string. */
export function didYouMean(word: string, candidates: readonly string[]): string {
  const found = suggest(word, candidates);
  return found === null ? '' : ` (did you mean ${found}?)`;
}

function plain(word: string): string {
  return word.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}

/** Returns the optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, beforeLast[j - 2]! + 1);
      row.push(cost);
    }
    [beforeLast, last] = [last, row];
  }
  return last[b.length]!;
}
