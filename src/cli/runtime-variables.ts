type Env = Readonly<Record<string, string | undefined>>;

/**
 * Variables with which the runtime inside the executable loads other code, or opens a debugger. `BUN_BE_BUN` is not among
 * them: with it the runtime starts instead of the program.
 */
const REFUSED = /^BUN_(?:OPTIONS|INSPECT(?:_.*)?)$/;

/** The variables of the runtime that the executable must not be started with. */
export function refusedVariables(env: Env): string[] {
  return Object.keys(env)
    .filter((name) => REFUSED.test(name) && env[name] !== '')
    .sort();
}
