/** Whether this program is the executable, whose modules lie in a file system of its own, and not run from the sources. */
export function isExecutable(): boolean {
  return import.meta.path.startsWith('/$bunfs/') || import.meta.path.includes('~BUN');
}
