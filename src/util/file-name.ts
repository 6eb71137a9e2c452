/** Whether a name is a plain file name, without path separators. */
export function isFileName(name: string): boolean {
  return name !== '' && !name.startsWith('.') && Buffer.byteLength(name) <= 128 && !/[/\\\p{Cc}]/u.test(name);
}
