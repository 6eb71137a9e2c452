/** A set of Core's script verification flags, one bit each. */
export type ScriptFlags = number;

/** The flags under Core's names. Each only restricts which scripts are valid. */
export const SCRIPT_FLAGS = {
  P2SH: 1 << 0,
  STRICTENC: 1 << 1,
  DERSIG: 1 << 2,
  LOW_S: 1 << 3,
  NULLDUMMY: 1 << 4,
  SIGPUSHONLY: 1 << 5,
  MINIMALDATA: 1 << 6,
  DISCOURAGE_UPGRADABLE_NOPS: 1 << 7,
  CLEANSTACK: 1 << 8,
  CHECKLOCKTIMEVERIFY: 1 << 9,
  CHECKSEQUENCEVERIFY: 1 << 10,
  WITNESS: 1 << 11,
  DISCOURAGE_UPGRADABLE_WITNESS_PROGRAM: 1 << 12,
  MINIMALIF: 1 << 13,
  NULLFAIL: 1 << 14,
  WITNESS_PUBKEYTYPE: 1 << 15,
  CONST_SCRIPTCODE: 1 << 16,
  TAPROOT: 1 << 17,
  DISCOURAGE_UPGRADABLE_TAPROOT_VERSION: 1 << 18,
  DISCOURAGE_OP_SUCCESS: 1 << 19,
  DISCOURAGE_UPGRADABLE_PUBKEYTYPE: 1 << 20,
} as const;

export type ScriptFlagName = keyof typeof SCRIPT_FLAGS;

/** Returns the names of the set flags in alphabetical order, as Core lists them. */
export function scriptFlagNames(flags: ScriptFlags): ScriptFlagName[] {
  const names = Object.keys(SCRIPT_FLAGS) as ScriptFlagName[];
  return names.filter((name) => flags & SCRIPT_FLAGS[name]).sort();
}
