/** Whether a name is a plain file name, without path separators. */
export function isFileName(name: string): boolean {
  return name !== '' && !name.startsWith('.') && Buffer.byteLength(name) <= 128 && !/[/\\\p{Cc}]/u.test(name);
}

/** Whether a name is a normalized path, relative or absolute, of at most 1024 bytes. */
export function isPathName(name: string): boolean {
  const parts = (name.startsWith('/') ? name.slice(1) : name).split('/');
  return (
    !name.includes('\0') &&
    Buffer.byteLength(name) <= 1024 &&
    parts.every((part) => part !== '' && part !== '.' && part !== '..')
  );
}
