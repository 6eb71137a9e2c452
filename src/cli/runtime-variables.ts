type Env = Readonly<Record<string, string | undefined>>;

/**
 * Variables that make the runtime inside the executable load other code or open a debugger. `BUN_BE_BUN` cannot be
 * refused here: with it the runtime starts instead of the program.
 */
const REFUSED = /^BUN_(?:OPTIONS|INSPECT(?:_.*)?)$/;

/** Returns the names of variables that the executable must not be started with, sorted. */
export function refusedVariables(env: Env): string[] {
  return Object.keys(env)
    .filter((name) => REFUSED.test(name) && env[name] !== '')
    .sort();
}
