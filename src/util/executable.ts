/**
 * Whether the program runs as the compiled executable, whose modules are in a virtual file system, and not from the
 * sources.
 */
export function isExecutable(): boolean {
  return import.meta.path.startsWith('/$bunfs/') || import.meta.path.includes('~BUN');
}
