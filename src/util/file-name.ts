/** A name that stays within its directory. */
export function isFileName(name: string): boolean {
  return name !== '' && !name.startsWith('.') && Buffer.byteLength(name) <= 128 && !/[/\\\p{Cc}]/u.test(name);
}
