/** Maximum size of a script before tapscript, bytes. */
export const MAX_SCRIPT_SIZE = 10_000;
/** Maximum size of a stack item, bytes. */
export const MAX_SCRIPT_ELEMENT_SIZE = 520;
/** Maximum number of operations other than pushes in a script before tapscript. */
export const MAX_OPS_PER_SCRIPT = 201;
export const MAX_PUBKEYS_PER_MULTISIG = 20;
/** Maximum number of items on stack and altstack together. */
export const MAX_STACK_SIZE = 1000;
/** Locktimes below are heights, others are Unix times in seconds. */
export const LOCKTIME_THRESHOLD = 500_000_000;

export const WITNESS_V0_KEYHASH_SIZE = 20;
export const WITNESS_V0_SCRIPTHASH_SIZE = 32;
export const WITNESS_V1_TAPROOT_SIZE = 32;
/** First byte of an annex (BIP-341). */
export const ANNEX_TAG = 0x50;
