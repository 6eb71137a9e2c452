/** Path of a program that a test runs. Throws where it is missing: `.ci/install-programs` installs all of them. */
export function requireProgram(name: string): string {
  const path = Bun.which(name);
  if (path === null) throw new Error(`${name} is not installed; .ci/install-programs installs what the tests run`);
  return path;
}
