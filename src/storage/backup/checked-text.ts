/** The text of a manifest as it was read. `problem` is a clause; null if the content matches its checksum. */
type CheckedContent<T> =
  | { readonly content: null; readonly problem: string }
  | { readonly content: T; readonly problem: string | null };

/** Returns the JSON text of a manifest: its members, and a checksum over them. */
export function checkedText(content: object): string {
  return `${JSON.stringify({ ...content, sha256: digestOf(content) }, null, 1)}\n`;
}

/** Reads a text of `checkedText`. The content is returned with a wrong checksum too, since its format may be another one. */
export function readCheckedText<T>(text: string): CheckedContent<T> {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return { content: null, problem: 'it is no JSON' };
  }
  const { sha256, ...content } = (read ?? {}) as Record<string, unknown>;
  const problem = sha256 === digestOf(content) ? null : 'its content does not match its checksum';
  return { content: content as T, problem };
}

function digestOf(content: object): string {
  return new Bun.CryptoHasher('sha256').update(JSON.stringify(content)).digest('hex');
}
