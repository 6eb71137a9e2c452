import { SCRIPT_FLAGS, type ScriptFlagName, type ScriptFlags } from '../../src/script/flags.ts';

export const ALL_SCRIPT_FLAGS: ScriptFlags = (1 << 21) - 1;

/** Reads a list such as `P2SH,WITNESS`; empty or `NONE` is no flag. Throws on a name that does not exist. */
export function parseScriptFlags(list: string): ScriptFlags {
  if (list === '' || list === 'NONE') return 0;
  let flags = 0;
  for (const name of list.split(',')) {
    if (!Object.hasOwn(SCRIPT_FLAGS, name)) throw new Error(`no script flag: ${name}`);
    flags |= SCRIPT_FLAGS[name as ScriptFlagName];
  }
  return flags;
}
